// Command etcd is the upstream server: its own main package lives in a module
// that the Go module proxy does not serve as a tool, so this calls its entry point.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
