package connector_test

import (
	"encoding/base64"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// noise returns n characters that depend only on seed and hardly compress.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return base64.RawURLEncoding.EncodeToString(b)[:n]
}

// change writes a pod with the given phase. The incompressible part of the pod stays the
// same.
func (w *world) change(name, phase string) api.ResourceVersion {
	return w.write(name, phase, noise(7, 400))
}

func (w *world) write(name, phase, own string) api.ResourceVersion {
	value := strings.Replace(string(pod(name, phase)), `"nodeName"`, `"own":"`+own+`","nodeName"`, 1)
	return w.source.Put(pods, key(name), []byte(value))
}

func TestChangesAreSentAsDeltas(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(50)
		w.change("pod-00007", "Running")
		r, s := w.synced()
		before := r.Bytes
		last := w.change("pod-00007", "Failed")
		w.until(r, func() bool { return s.ResourceVersion == last })
		o := s.Objects["default/pod-00007"]
		require.NotZero(t, o.Base, "it is sent as a delta from the previous version")
		require.Contains(t, o.JSON, `"phase":"Failed"`)
		require.Less(t, r.Bytes-before, 110)

		// A later reader receives the object and its base. From then on, both readers have the
		// same state.
		late, t2 := w.synced()
		require.Equal(t, s.Objects["default/pod-00007"].JSON, t2.Objects["default/pod-00007"].JSON)
		last = w.change("pod-00007", "Succeeded")
		w.until(r, func() bool { return s.ResourceVersion == last })
		w.until(late, func() bool { return t2.ResourceVersion == last })
		require.Equal(t, o.Base, s.Objects["default/pod-00007"].Base)
		require.Equal(t, s.Objects["default/pod-00007"].JSON, t2.Objects["default/pod-00007"].JSON)
	})
}

func TestNewBaseWhenDeltasAreLarge(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(50)
		w.change("pod-00007", "Running")
		r, s := w.synced()
		last := w.write("pod-00007", "Running", noise(8, 400))
		w.until(r, func() bool { return s.ResourceVersion == last })
		require.Zero(t, s.Objects["default/pod-00007"].Base)
	})
}

// A reader that resumes at a connector with different bases receives each base once.
func TestResumeAtAnotherConnector(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(50)
		w.change("pod-00007", "Running")
		r, s := w.synced()
		last := w.change("pod-00007", "Failed")
		w.until(r, func() bool { return s.ResourceVersion == last })

		other := connector.New(connector.Config{Source: w.source, Logger: slog.New(slog.DiscardHandler)})
		defer func() { require.NoError(t, other.Close(t.Context())) }()
		served, end := connectortest.Pipe()
		w.serving.Go(func() { _ = other.Serve(t.Context(), served) })
		there := connectortest.NewReader(end)
		require.NoError(t, there.Hello(t.Context(), ""))
		require.NoError(t, there.Resume(t.Context(), s, wire.Subscribe{
			Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless,
		}))
		synctest.Wait()
		for _, phase := range []string{"Succeeded", "Failed", "Pending"} {
			last = w.change("pod-00007", phase)
			w.until(there, func() bool { return s.ResourceVersion == last || s.Status != nil })
			require.Nil(t, s.Status)
			require.Contains(t, s.Objects["default/pod-00007"].JSON, `"phase":"`+phase+`"`)
		}
		require.NotZero(t, s.Objects["default/pod-00007"].Base)
		require.Equal(t, 1, s.Snapshots)
	})
}
