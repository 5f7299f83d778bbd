//! Findings about policies, Services and pods by code, severity and namespace.
//!
//! The label is `object_namespace`, because Prometheus sets `namespace` to that of the pod it scrapes.
//!
//! A collector, because a series of a namespace ends with its last finding: zeros of thousands of namespaces would stay otherwise.

use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use wn_plan::lint::Series;

use super::labels::severity;

/// The findings that there are now.
#[derive(Debug, Default)]
pub struct Found(Mutex<Vec<Series>>);

impl Found {
    pub fn set(&self, series: Vec<Series>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = series;
    }
}

impl Collector for Found {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut metric = encoder.encode_descriptor(
            "workload_findings",
            "Findings about network policies, Services and pods by code, severity and namespace; at most 200 of the series name one",
            None,
            MetricType::Gauge,
        )?;
        for series in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let labels = [
                ("code", series.code),
                ("severity", severity(series.severity)),
                ("object_namespace", &series.namespace),
            ];
            ConstGauge::new(series.count).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
