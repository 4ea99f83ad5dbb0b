package embedetcd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// startTimeout limits how long a server may take to start. On a loaded machine, electing
// a leader may take seconds.
const startTimeout = time.Minute

// quota is the maximum size of the database in bytes. It is large, so that the database
// stays writable while a demo rewrites large objects for hours.
const quota = 8 << 30

// Config configures a server. The zero value selects free ports and a temporary
// directory, and disables compaction.
type Config struct {
	// Dir is the data directory. Empty means a temporary directory, which Close removes. If
	// the process is killed, a later Start removes the temporary directory.
	Dir string
	// ClientPort and PeerPort are ports on loopback, for clients and for other members. Zero
	// means a free port.
	ClientPort, PeerPort int
	// UnsafeNoFsync skips fsync. This is much faster, but a crash of the machine loses the
	// data.
	UnsafeNoFsync bool
	// Retention is how long history is retained before compaction. Zero disables compaction.
	Retention time.Duration
}

// Server is one running member. It is safe for concurrent use.
type Server struct {
	etcd   *embed.Etcd
	client *clientv3.Client
	temp   *tempDir // removed by Close; nil for a permanent directory
}

// Start starts a cluster with one member and returns when the member serves. The caller
// must close the server. If etcd cannot continue, for example because the disk is full,
// the server prints the reason to stderr and terminates the program.
func Start(config Config) (*Server, error) {
	peer := loopback(config.PeerPort)
	return StartMember(config, Member{Name: "watchglass", Peer: peer, Cluster: "watchglass=" + peer.String(), Token: rand.Text()})
}

// Member identifies one member of a cluster.
type Member struct {
	Name    string
	Peer    url.URL // address for the other members
	Cluster string  // name=peer of all members, separated by commas
	// Token becomes part of the ID of a new cluster; all members of a cluster have the same
	// token. Tokens of different clusters must differ, because a later cluster may use the
	// same peer ports. A data directory that is not empty keeps its cluster ID.
	Token string
}

// StartMember starts one member of a cluster, and returns when the member serves. Other
// members may run in other processes. The caller must close the server.
func StartMember(config Config, m Member) (server *Server, err error) {
	server = &Server{}
	defer func() {
		if err != nil {
			server.Close()
			server = nil
		}
	}()
	if config.Dir == "" {
		if server.temp, err = newTempDir(); err != nil {
			return server, err
		}
		config.Dir = server.temp.data()
	}
	c := etcdConfig(config, m)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(silentUntilTheEnd(server.temp))
	if server.etcd, err = embed.StartEtcd(c); err != nil {
		return server, fmt.Errorf("start embedded etcd in %s: %w", config.Dir, err)
	}
	if err = server.awaitReady(); err != nil {
		return server, err
	}
	server.client, err = clientv3.New(clientv3.Config{Endpoints: server.Endpoints(), Logger: zap.NewNop()})
	return server, err
}

func etcdConfig(config Config, m Member) *embed.Config {
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster, c.InitialClusterToken = m.Name, config.Dir, m.Cluster, m.Token
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{m.Peer}, []url.URL{m.Peer}
	client := loopback(config.ClientPort)
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.TickMs, c.ElectionMs = 50, 500
	c.UnsafeNoFsync = config.UnsafeNoFsync
	c.QuotaBackendBytes = quota
	if config.Retention > 0 {
		c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, config.Retention.String()
	}
	return c
}

func loopback(port int) url.URL {
	return url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
}

func (s *Server) awaitReady() error {
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.etcd.Err():
		return fmt.Errorf("embedded etcd stopped while starting: %w", err)
	case <-s.etcd.Server.StopNotify():
		return errors.New("embedded etcd stopped while starting")
	case <-timeout.C:
		return fmt.Errorf("embedded etcd is not ready after %v", startTimeout)
	}
}

// Endpoints returns the client addresses, such as "127.0.0.1:port".
func (s *Server) Endpoints() []string {
	endpoints := make([]string, len(s.etcd.Clients))
	for i, listener := range s.etcd.Clients {
		endpoints[i] = listener.Addr().String()
	}
	return endpoints
}

// Client returns a client of this member. The server owns and closes it.
func (s *Server) Client() *clientv3.Client { return s.client }

// Err returns a channel that receives an error if the server ends unexpectedly.
func (s *Server) Err() <-chan error { return s.etcd.Err() }

// Close stops the server, and removes the data directory if it is temporary. The caller
// must call Close only once.
func (s *Server) Close() error {
	var errs []error
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.etcd != nil {
		s.etcd.Close()
	}
	if s.temp != nil {
		errs = append(errs, s.temp.remove())
	}
	return errors.Join(errs...)
}
