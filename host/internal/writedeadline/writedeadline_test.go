package writedeadline

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/slowlink"
)

// serve sends a request over a slow link to a server whose handler calls f. It passes the
// response to take.
func serve(t *testing.T, rate int, f func(w *Writer), take func(resp *http.Response)) {
	synctest.Test(t, func(t *testing.T) {
		link := slowlink.Listen(rate, 128<<10)
		defer link.Wait()
		server := http.Server{
			WriteTimeout: time.Second, // Writer replaces this deadline
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				writer := New(w, nil)
				defer writer.Finish()
				f(writer)
			}),
		}
		go server.Serve(link)
		defer server.Close()
		transport := &http.Transport{DialContext: link.Dial, DisableCompression: true}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
		require.NoError(t, err)
		defer resp.Body.Close()
		take(resp)
	})
}

func TestSlowClientReceivesALargeResponse(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 140_000)
	for _, rate := range []int{16_000, 60_000, 250_000} {
		t.Run(fmt.Sprintf("%dkBps", rate/1000), func(t *testing.T) {
			write := func(w *Writer) {
				n, err := w.Write(content) // in one call
				assert.NoError(t, err)
				assert.Equal(t, len(content), n)
			}
			serve(t, rate, write, func(resp *http.Response) {
				begun := time.Now()
				got, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, content, got)
				assert.Greater(t, time.Since(begun).Seconds(), 1_200_000/float64(rate))
			})
		})
	}
}

func TestClientThatDoesNotReadIsDisconnected(t *testing.T) {
	var err error
	var took time.Duration
	write := func(w *Writer) {
		begun := time.Now()
		_, err = w.Write(make([]byte, 1<<20))
		took = time.Since(begun)
	}
	serve(t, 60_000, write, func(resp *http.Response) {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Error(t, err)
		assert.Less(t, took, 2*time.Minute)
	})
}

// The server sends the last bytes of a response after the handler has returned. Finish sets
// the deadline for these bytes.
func TestClientThatDoesNotReadTheLastBytesIsDropped(t *testing.T) {
	write := func(w *Writer) {
		for range 40 { // all writes together slightly exceed the buffers of the network
			w.Write(make([]byte, 6<<10))
			w.Flush()
		}
		w.Write(make([]byte, 1<<10))
	}
	serve(t, 16_000, write, func(resp *http.Response) {
		time.Sleep(10 * time.Minute)
		_, err := io.Copy(io.Discard, resp.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}
