package connector_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/kubeapi/kubeapitest"
	"github.com/watchglass/watchglass/host/source/memory"
)

func TestBackend(t *testing.T) {
	kubeapitest.Run(t, func(t *testing.T, source *memory.Source) kubeapi.Backend {
		c := connector.New(connector.Config{Source: source, Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			require.NoError(t, c.Close(ctx))
		})
		return c.Backend()
	})
}
