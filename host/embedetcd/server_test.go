package embedetcd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServerKeepsDataInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	server, err := Start(Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	_, err = server.Client().Put(t.Context(), "a", "1")
	require.NoError(t, err)
	require.NoError(t, server.Close())

	server, err = Start(Config{Dir: dir, UnsafeNoFsync: true})
	require.NoError(t, err)
	defer server.Close()
	resp, err := server.Client().Get(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, resp.Kvs, 1)
}

func TestServerRemovesItsTemporaryDirectory(t *testing.T) {
	server, err := Start(Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	require.DirExists(t, server.temp.path)
	require.NoError(t, server.Close())
	require.NoDirExists(t, server.temp.path)
}

// Each data directory has a cluster ID of its own, so that readers can distinguish the
// histories of different directories.
func TestEveryDirectoryIsAClusterOfItsOwn(t *testing.T) {
	identity := func(config Config) uint64 {
		config.UnsafeNoFsync = true
		server, err := Start(config)
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		resp, err := server.Client().Get(t.Context(), "a")
		require.NoError(t, err)
		return resp.Header.ClusterId
	}
	kept := Config{Dir: t.TempDir()}
	first := identity(kept)
	require.NotEqual(t, first, identity(Config{}), "in a directory of its own")
	require.Equal(t, first, identity(kept), "in the same directory")
}

func TestTwoServersRunSideBySide(t *testing.T) {
	for range 2 {
		server, err := Start(Config{UnsafeNoFsync: true})
		require.NoError(t, err)
		defer server.Close()
		require.NotContains(t, server.Endpoints()[0], ":0")
	}
}

func TestStartNamesADirectoryThatCannotBeUsed(t *testing.T) {
	_, err := Start(Config{Dir: "/dev/null/etcd"})
	require.ErrorContains(t, err, "/dev/null/etcd")
}

func TestClusterReplicates(t *testing.T) {
	servers, err := StartCluster(3, Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	for _, s := range servers {
		defer s.Close()
	}
	_, err = servers[0].Client().Put(t.Context(), "a", "1")
	require.NoError(t, err)
	resp, err := servers[2].Client().Get(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, resp.Kvs, 1)
}
