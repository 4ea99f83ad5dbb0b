// Command probe prints the user, the certificates and the rights with which the entrypoint
// of the image runs.
package main

import (
	"crypto/x509"
	"fmt"
	"os"
)

func main() {
	fmt.Println("user", os.Getuid(), os.Getgid())
	roots, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	pool := x509.NewCertPool()
	fmt.Println("certificates", err == nil && pool.AppendCertsFromPEM(roots))
	for _, path := range []string{"/new", "/etc/new", "/watchglass"} {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		fmt.Println("write", path, err)
		if err == nil {
			file.Close()
		}
	}
}
