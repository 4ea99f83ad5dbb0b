// Package embedetcd runs etcd servers inside the process, for the demo and for tests. The
// servers listen on loopback only, without authentication.
package embedetcd
