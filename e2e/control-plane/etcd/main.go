// Command etcd is the upstream server. Its own main package is in a module that the Go module proxy does not serve as a
// tool, so this program calls its entry point.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
