package interrupt

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAHangupThatIsIgnoredEndsNothing(t *testing.T) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // however this was started
	defer signal.Stop(hangup)
	assert.Contains(t, signals(), os.Signal(syscall.SIGHUP))
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	assert.NotContains(t, signals(), os.Signal(syscall.SIGHUP))
}
