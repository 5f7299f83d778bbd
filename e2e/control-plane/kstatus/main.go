// Command kstatus prints the status that kstatus, which Flux, Argo CD and Helm wait for, computes for an object. The only
// argument is the object as JSON.
package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: kstatus OBJECT")
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(os.Args[1])); err != nil {
		return err
	}
	result, err := status.Compute(object)
	if err != nil {
		return err
	}
	fmt.Println(result.Status)
	return nil
}
