// Package kubeapiserver runs a kube-apiserver on an embedded etcd, for tests.
package kubeapiserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/freeport"
)

// binary is the path of kube-apiserver, relative to the directory of a test package. make
// conformance builds the program.
const binary = "../kubernetes/bin/kube-apiserver-v1.36.3"

// Admin is the token of a user in the group system:masters.
const Admin = "admin-token"

// Config selects the users and the flags of a server.
type Config struct {
	// Users contains lines of kube-apiserver's token file (--token-auth-file), for users
	// other than Admin.
	Users string
	// Flags are appended to the command line.
	Flags []string
}

// Server is a kube-apiserver without controllers. It uses RBAC and a self-signed
// certificate.
type Server struct {
	URL  string
	HTTP *http.Client // accepts every certificate and adds no credentials
	Etcd *embedetcd.Server

	dir  string
	args []string
	log  *os.File
	cmd  *exec.Cmd
}

// Start starts a server and waits until it is ready.
func Start(config Config) (*Server, error) {
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%s is missing: run make conformance, which builds it", binary)
	}
	dir, err := os.MkdirTemp("", "kube-apiserver")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err = s.prepare(config); err == nil {
		err = s.Launch()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) prepare(config Config) error {
	port, err := freeport.Reserve()
	if err != nil {
		return err
	}
	s.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	s.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if err := s.writeFiles(config.Users); err != nil {
		return err
	}
	if s.log, err = os.Create(s.path("log")); err != nil {
		return err
	}
	if s.Etcd, err = embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true}); err != nil {
		return err
	}
	s.args = append([]string{
		"--etcd-servers=" + s.Etcd.Endpoints()[0], "--etcd-prefix=/registry", "--etcd-compaction-interval=0",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprint("--secure-port=", port),
		"--cert-dir=" + s.path("certs"), "--token-auth-file=" + s.path("tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + s.path("key"),
		"--service-account-signing-key-file=" + s.path("key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
	}, config.Flags...)
	return nil
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) writeFiles(users string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	tokens := Admin + ",admin,admin,\"system:masters\"\n" + users
	return errors.Join(os.WriteFile(s.path("key"), block, 0o600), os.WriteFile(s.path("tokens"), []byte(tokens), 0o600))
}

// Launch starts the process and waits until the server is ready. Callers may call it again
// after Stop.
func (s *Server) Launch() error {
	s.cmd = exec.Command(binary, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		code, _, err := s.Request(context.Background(), http.MethodGet, s.URL+"/readyz", Admin, nil)
		if err == nil && code == http.StatusOK {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.path("log")) // the error also helps without the log
			return fmt.Errorf("kube-apiserver is not ready after two minutes; its log ends with:\n%s", log[max(0, len(log)-4000):])
		}
		time.Sleep(50 * time.Millisecond) // the process does not signal readiness
	}
}

// CPU returns the processor time that the process has used so far, on Linux.
func (s *Server) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name of the process, in parentheses, precedes the fields that are used here.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond
	ticks := 0
	for _, field := range []int{user, system} {
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// Stop kills the process, but keeps etcd and the files, so that Launch can start it again.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // the process may have ended
	_ = s.cmd.Wait()         // the exit status is "killed"
	s.cmd = nil
}

// Close stops the server, then its etcd, and removes the files of both. The reverse order
// would take minutes.
func (s *Server) Close() error {
	s.Stop()
	var failures []error
	if s.Etcd != nil {
		failures = append(failures, s.Etcd.Close())
	}
	if s.log != nil {
		failures = append(failures, s.log.Close())
	}
	return errors.Join(append(failures, os.RemoveAll(s.dir))...)
}

// WriteKubeconfig writes a kubeconfig for the user with the given token.
func (s *Server) WriteKubeconfig(path, token string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],
		"users":[{"name":"u","user":{"token":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, s.URL, token), 0o600)
}

// Request sends JSON with a token to any URL, and returns the status code and the body of
// the response.
func (s *Server) Request(ctx context.Context, method, url, token string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.HTTP.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, content, err
}
