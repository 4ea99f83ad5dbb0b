package connector_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source"
)

var configMaps = api.Resource{Version: "v1", Name: "configmaps"}

// secrets is a world of ConfigMaps that contain sentinels. A sentinel is a string that
// identifies the object that contains it.
type secrets struct {
	*world
	rand    *rand.Rand
	planted sentinel.Set
}

func (s *secrets) key() api.Key {
	return api.Key(fmt.Sprintf("team-%c/cm-%02d", 'a'+s.rand.IntN(4), s.rand.IntN(12)))
}

func (s *secrets) value(key api.Key) []byte {
	own := s.planted.Plant(string(key))
	return fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"creationTimestamp":"2026-05-01T12:00:00Z",`+
		`"labels":{"app":"web","own":%q},"annotations":{%q:%q}},"data":{"url":"jdbc:postgresql://%s.example.com:5432/orders","edit":"%d",%q:"password=%s"}}`,
		key.Name(), key.Namespace(), own, own, own+"/a", own, own, s.rand.IntN(1000), own, own)
}

func (s *secrets) write() source.Write {
	w := source.Write{Resource: configMaps, Key: s.key()}
	switch s.rand.IntN(8) {
	case 0:
	case 1:
		w.Value = []byte(`{"metadata":{"name":"` + s.planted.Plant(string(w.Key)) + `"`)
	default:
		w.Value = s.value(w.Key)
	}
	return w
}

// change writes one to four objects in one transaction, and returns its resource version.
func (s *secrets) change() api.ResourceVersion {
	var writes []source.Write
	taken := map[api.Key]bool{}
	for range 1 + s.rand.IntN(4) {
		if w := s.write(); !taken[w.Key] {
			taken[w.Key] = true
			writes = append(writes, w)
		}
	}
	last, err := s.source.Txn(s.t.Context(), writes...)
	require.NoError(s.t, err)
	return last
}

// No byte that a reader receives comes from an object that the reader may not read (rule
// B25). This holds even if other readers and the connector have read the object before.
func TestReadersReceiveNothingOfObjectsThatTheyMayNotRead(t *testing.T) {
	scopes := []wire.Subscribe{
		{Namespace: "team-a"},
		{Namespace: "team-b", LabelSelector: "app=web"},
		{Namespace: "team-c", FieldSelector: "metadata.name=cm-03"},
		{FieldSelector: "metadata.name=cm-05"},
		{Namespace: "team-d", MetadataOnly: true},
		{Namespace: "nowhere"},
		{},
		{Namespace: "team-a", RowsFirst: true},
		{Namespace: "team-b", LabelSelector: "app=web", RowsFirst: true},
		{FieldSelector: "metadata.name=cm-05", RowsFirst: true},
	}
	rules := &book{rights: map[string][]string{
		"0": {"v1/configmaps in namespace team-a"}, "1": {"v1/configmaps in namespace team-b"},
		"2": {"v1/configmaps cm-03 in namespace team-c"}, "3": {"v1/configmaps cm-05"},
		"4": {"v1/configmaps in namespace team-d"}, "5": {"v1/configmaps in namespace nowhere"}, "6": {"v1/configmaps"},
		"7": {"v1/configmaps in namespace team-a"}, "8": {"v1/configmaps in namespace team-b"}, "9": {"v1/configmaps cm-05"},
	}}
	for seed := range uint64(3) {
		run(t, connector.Config{Access: rules, MessageBytes: 2000}, func(t *testing.T, w *world) {
			s := &secrets{world: w, rand: rand.New(rand.NewPCG(seed, 1))}
			for range 100 {
				s.change()
			}
			readers := make([]*connectortest.Reader, len(scopes))
			subscriptions := make([]*connectortest.Subscription, len(scopes))
			conns := make([]*connectortest.Recorder, len(scopes))
			for i, f := range scopes {
				r, _ := w.readerAs(fmt.Sprint(i))
				conns[i] = &connectortest.Recorder{Conn: r.Conn}
				r.Conn, readers[i] = conns[i], r
				f.Resource = "v1/configmaps"
				subscriptions[i] = w.subscribe(r, f)
				require.NoError(t, r.UntilSynced(t.Context(), subscriptions[i]))
				if f.RowsFirst {
					require.NoError(t, r.Send(t.Context(), s.everyBody(subscriptions[i].ID)...))
					w.until(r, func() bool { return subscriptions[i].BodiesSynced })
				}
			}
			for range 20 {
				for range 10 {
					s.change()
				}
				last := s.source.Put(configMaps, "team-a/last", s.value("team-a/last")) // readable, because a fault does not advance the reader's version
				for i, r := range readers {
					w.until(r, func() bool { return subscriptions[i].ResourceVersion >= last })
				}
			}
			for i, f := range scopes {
				fields, err := selector.ParseFields(f.FieldSelector)
				require.NoError(t, err)
				s.check(subscriptions[i], conns[i], selector.ScopeOf(f.Namespace, fields), f.MetadataOnly)
			}
		})
	}
}

// everyBody returns RequestBody frames for all objects that a test may write.
func (s *secrets) everyBody(subscription uint32) (frames []connectortest.Frame) {
	for team := range 4 {
		for i := range 12 {
			key := api.Key(fmt.Sprintf("team-%c/cm-%02d", 'a'+team, i))
			frames = append(frames, &wire.RequestBody{Subscription: subscription, Key: key})
		}
	}
	return frames
}

func (s *secrets) check(sub *connectortest.Subscription, conn *connectortest.Recorder, scope api.Scope, metadataOnly bool) {
	t := s.t
	require.Nil(t, sub.Status, "%+v", scope)
	mayRead := func(name string) bool { return scope.Has(api.Key(name)) }
	messages, err := conn.Plain()
	require.NoError(t, err)
	for _, m := range messages {
		require.Empty(t, s.planted.Outside(m, mayRead), "a reader of %+v was sent %q", scope, m)
	}
	for key, o := range sub.Objects {
		require.True(t, scope.Has(key), key)
		if !metadataOnly {
			require.Equal(t, []string{string(key)}, s.planted.Find([]byte(o.JSON)), "%s has its own object", key)
		}
	}
	for key, fault := range sub.Faults {
		require.True(t, scope.Has(key), key)
		require.Empty(t, s.planted.Outside([]byte(fault.Error()), mayRead))
	}
	if strings.HasPrefix(scope.Namespace, "team-") && scope.Name == "" || scope.Whole() {
		assert.NotEmpty(t, sub.Objects, "%+v", scope)
	}
}
