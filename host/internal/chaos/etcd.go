//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/freeport"
)

const members = 3

// memberVariable is the environment variable that makes this program run an etcd member.
// Its value is a memberConfig in JSON.
const memberVariable = "WATCHGLASS_CHAOS_MEMBER"

// memberConfig is the configuration in the value of memberVariable.
type memberConfig struct {
	Config embedetcd.Config
	Member embedetcd.Member
}

// runMember runs a member until the process is killed.
func runMember(text string) {
	var c memberConfig
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		_, err = embedetcd.StartMember(c.Config, c.Member)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd member:", err)
		os.Exit(1)
	}
	select {}
}

// etcd is an etcd cluster whose members run in separate processes.
type etcd struct {
	dir     string
	configs [members]memberConfig
	process [members]*process
	client  *clientv3.Client // connected to all members, without a proxy
	restore int              // number of restored backups
}

func startEtcd(ctx context.Context, dir string) (*etcd, error) {
	e := &etcd{dir: dir}
	var peers []string
	for i := range e.configs {
		c := &e.configs[i]
		peer, err := freeport.Reserve()
		if err != nil {
			return nil, err
		}
		if c.Config.ClientPort, err = freeport.Reserve(); err != nil {
			return nil, err
		}
		c.Config.UnsafeNoFsync = true
		c.Member.Name = "member-" + strconv.Itoa(i)
		c.Member.Peer = url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(peer)}
		peers = append(peers, c.Member.Name+"="+c.Member.Peer.String())
	}
	e.configure(strings.Join(peers, ","))
	var err error
	e.client, err = clientv3.New(clientv3.Config{
		Endpoints: e.endpoints(), Logger: zap.NewNop(), DialTimeout: 2 * time.Second,
		DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	if err := e.startAll(ctx); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// configure sets a new cluster ID and new data directories in the configuration of all
// members.
func (e *etcd) configure(cluster string) {
	token := rand.Text()
	for i := range e.configs {
		c := &e.configs[i]
		c.Member.Cluster, c.Member.Token = cluster, token
		c.Config.Dir = filepath.Join(e.dir, fmt.Sprintf("%s-%d", c.Member.Name, e.restore))
	}
}

func (e *etcd) address(i int) string {
	return "127.0.0.1:" + strconv.Itoa(e.configs[i].Config.ClientPort)
}

func (e *etcd) endpoints() (all []string) {
	for i := range e.configs {
		all = append(all, e.address(i))
	}
	return all
}

func (e *etcd) startAll(ctx context.Context) error {
	for i := range e.configs { // a member becomes ready only when a second member runs
		if err := e.launch(i); err != nil {
			return err
		}
	}
	for i := range e.configs {
		if err := e.start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (e *etcd) launch(i int) (err error) {
	text, err := json.Marshal(&e.configs[i])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), memberVariable+"="+string(text))
	e.process[i], err = launch(filepath.Join(e.dir, e.configs[i].Member.Name+".log"), command)
	return err
}

// start starts member i unless it is running, and returns when the member is ready.
func (e *etcd) start(ctx context.Context, i int) (err error) {
	e.process[i], err = startUntilReady(ctx, func() (*process, error) {
		if e.process[i] != nil && e.process[i].running() {
			return e.process[i], nil
		}
		err := e.launch(i)
		return e.process[i], err
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		status, err := e.client.Status(ctx, e.address(i))
		if err == nil && status.Leader == 0 {
			err = fmt.Errorf("etcd %s has no leader", e.address(i))
		}
		return err
	})
	return err
}

func (e *etcd) signal(i int, s syscall.Signal) { e.process[i].signal(s) }

// compact compacts the cluster up to a revision. It tries again after an error. On a slow
// machine, an attempt may time out and still succeed, so compact treats ErrCompacted as
// success.
func (e *etcd) compact(ctx context.Context, revision uint64) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := e.client.Compact(attempt, int64(revision), clientv3.WithCompactPhysical())
		cancel()
		if err == nil || errors.Is(err, rpctypes.ErrCompacted) {
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// defragment defragments all members, one after the other.
func (e *etcd) defragment(ctx context.Context) error {
	for i := range e.configs {
		if _, err := e.client.Defragment(ctx, e.address(i)); err != nil {
			return fmt.Errorf("defragment etcd %s: %w", e.address(i), err)
		}
	}
	return nil
}

// backup saves a snapshot of the cluster to a file.
func (e *etcd) backup(ctx context.Context, file string) error {
	config := clientv3.Config{Endpoints: []string{e.address(0)}, Logger: zap.NewNop(), DialTimeout: 10 * time.Second}
	_, err := snapshot.NewV3(zap.NewNop()).Save(ctx, config, file)
	return err
}

// restoreBackup replaces the cluster with a restored backup that has a new cluster ID, as the
// documentation of etcdutl recommends.
func (e *etcd) restoreBackup(ctx context.Context, file string) error {
	for _, p := range e.process {
		p.kill()
	}
	e.restore++
	e.configure(e.configs[0].Member.Cluster)
	for i := range e.configs {
		c := &e.configs[i]
		err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
			SnapshotPath: file, Name: c.Member.Name, OutputDataDir: c.Config.Dir, PeerURLs: []string{c.Member.Peer.String()},
			InitialCluster: c.Member.Cluster, InitialClusterToken: c.Member.Token,
		})
		if err != nil {
			return err
		}
	}
	return e.startAll(ctx)
}

func (e *etcd) close() {
	_ = e.client.Close()
	for _, p := range e.process {
		if p != nil {
			p.kill()
		}
	}
}
