package interrupt

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAHangupThatIsIgnoredEndsNothing(t *testing.T) {
	assert.Contains(t, signals(), os.Signal(syscall.SIGHUP))
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	assert.NotContains(t, signals(), os.Signal(syscall.SIGHUP))
}
