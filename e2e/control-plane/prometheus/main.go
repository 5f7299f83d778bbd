// Command prometheus checks alerts as `promtool check rules` and `promtool test rules` do, with Prometheus' own
// packages, because promtool itself depends on the client libraries of every cloud. It reads a case as JSON from
// standard input, evaluates every rule once a minute, and prints each alert that fires at the end, with its labels.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

type testCase struct {
	// The spec of a PrometheusRule.
	Rules json.RawMessage
	// In promtool's notation, such as `up{job="a"} 0x10 1x5`: one sample a minute.
	Series []string
	// Time at which the alerts are evaluated, in minutes.
	Minutes int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var test testCase
	if err := json.NewDecoder(os.Stdin).Decode(&test); err != nil {
		return err
	}
	// JSON is YAML. This also expands every template.
	file, problems := rulefmt.Parse(test.Rules, false, model.UTF8Validation)
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	begin := time.Unix(1_700_000_000, 0)
	samples, err := load(test.Series, begin)
	if err != nil {
		return err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	var found []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			firing, err := evaluate(engine, samples, rule, begin, test.Minutes)
			if err != nil {
				return fmt.Errorf("%s: %w", rule.Alert, err)
			}
			found = append(found, firing...)
		}
	}
	slices.Sort(found)
	for _, alert := range found {
		fmt.Println(alert)
	}
	return nil
}

// evaluate returns the alerts of a rule that fire after so many minutes: those whose expression held at each evaluation
// for the time that the rule requires.
func evaluate(engine *promql.Engine, samples series, rule rulefmt.Rule, begin time.Time, minutes int) ([]string, error) {
	since := map[string]time.Time{}
	var firing []string
	for minute := range minutes + 1 {
		now := begin.Add(time.Duration(minute) * time.Minute)
		query, err := engine.NewInstantQuery(context.Background(), samples, nil, rule.Expr, now)
		if err != nil {
			return nil, err
		}
		result := query.Exec(context.Background())
		vector, err := result.Vector()
		if err != nil {
			return nil, err
		}
		active := map[string]time.Time{}
		firing = nil
		for _, sample := range vector {
			own := labels.NewBuilder(sample.Metric)
			own.Set("alertname", rule.Alert)
			own.Del("__name__")
			for name, value := range rule.Labels {
				own.Set(name, value)
			}
			alert := own.Labels().String()
			active[alert] = now
			if before, known := since[alert]; known {
				active[alert] = before
			}
			if now.Sub(active[alert]) >= time.Duration(rule.For) {
				firing = append(firing, alert)
			}
		}
		since = active
		query.Close()
	}
	return firing, nil
}

// series holds every scraped sample.
type series []promql.Series

func load(descriptions []string, begin time.Time) (series, error) {
	var all series
	for _, description := range descriptions {
		metric, values, err := parser.ParseSeriesDesc(description)
		if err != nil {
			return nil, err
		}
		one := promql.Series{Metric: metric}
		for minute, value := range values {
			if !value.Omitted {
				at := begin.Add(time.Duration(minute) * time.Minute).UnixMilli()
				one.Floats = append(one.Floats, promql.FPoint{T: at, F: value.Value})
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return all, nil
}

func (all series) Querier(int64, int64) (storage.Querier, error) { return querier{all}, nil }

type querier struct{ all series }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, one := range q.all {
		differs := func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }
		if !slices.ContainsFunc(matchers, differs) {
			found.series = append(found.series, one)
		}
	}
	return found
}

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) Close() error { return nil }

type set struct {
	series series
	at     int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series              { return promql.NewStorageSeries(s.series[s.at]) }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
