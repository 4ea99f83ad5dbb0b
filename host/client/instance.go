package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	wasm "github.com/tetratelabs/wazero/api"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// abiVersion is the version of wasm/guest/ABI.md that this driver implements,
// followed by the fingerprint of the frames.
const abiVersion = 1<<24 | wire.Fingerprint

// These codes are the results of the module's functions, as in wasm/guest/ABI.md.
const (
	codeOK = iota
	codeRejected
	codePoisoned
	codeNotOpen
)

// ErrPoisoned reports that an instance panicked or trapped. The state of the instance is
// lost and every later call fails. Close the instance and create a new one.
var ErrPoisoned = errors.New("client: instance is poisoned")

// Instance is a running engine. It is not safe for concurrent use. Its calls are short
// and cannot be interrupted. The same input yields the same output: Tick is the only
// clock of an instance, and Config.Seed its only source of randomness.
//
// If the engine refuses the input of a call, the call returns an *api.Status and changes
// nothing. Any other error is ErrPoisoned.
type Instance struct {
	module   wasm.Module
	poison   error // why the instance is unusable
	lastGasp head  // the Go runtime's output before it crashed

	reserve, open, step, tick, ready, out, advance, lastError wasm.Function

	stack [1]uint64
	ctx   context.Context // contains the instance, for imported functions
	load  func(name, length uint32) []byte
}

// instanceKey is the key of the *Instance in a call's context.
type instanceKey struct{}

// gogc is the GOGC of the Go runtime in the module. The memory of a module never shrinks.
// With the default of 100, the memory would grow to twice the live heap and stay at that
// size.
const gogc = "40"

// NewInstance starts an instance. Call Open before other methods.
func (m *Module) NewInstance(ctx context.Context) (*Instance, error) {
	i := &Instance{}
	i.ctx = context.WithValue(context.Background(), instanceKey{}, i)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithStderr(&i.lastGasp).WithEnv("GOGC", gogc)
	module, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("client: module does not start: %w%s", err, i.lastGasp.suffix())
	}
	i.module = module
	if err := i.bind(); err != nil {
		_ = module.Close(ctx)
		return nil, err
	}
	return i, nil
}

// bind looks up all exports once, because a lookup by name costs more than a call.
func (i *Instance) bind() error {
	var missing string
	export := func(name string) wasm.Function {
		f := i.module.ExportedFunction(name)
		if f == nil && missing == "" {
			missing = name
		}
		return f
	}
	version := export("wg_abi")
	i.reserve, i.open, i.step, i.tick = export("wg_reserve"), export("wg_open"), export("wg_step"), export("wg_tick")
	i.ready, i.out, i.advance, i.lastError = export("wg_ready"), export("wg_out"), export("wg_advance"), export("wg_error")
	if missing != "" {
		return fmt.Errorf("client: not a watchglass module: export %s is missing", missing)
	}
	got, err := i.call(version, 0)
	if err == nil && got != abiVersion {
		err = fmt.Errorf("client: the module has version %#08x of the interface, and this program requires version %#08x: use the watchglass.wasm of the same release", uint32(got), abiVersion)
	}
	return err
}

// Open opens the engine. config is one wire.Config frame.
func (i *Instance) Open(config []byte) error { return i.send(i.open, config) }

// LoadWith sets the source of the bodies that RestoreChunk omits. load returns a body by
// name and length, or nil if it no longer exists. The body is copied. load must not call
// the instance.
func (i *Instance) LoadWith(load func(name, length uint32) []byte) { i.load = load }

// load is the function that the module imports to load a body. Its parameters are name,
// destination and length.
func load(ctx context.Context, module wasm.Module, stack []uint64) {
	name, at, length := uint32(stack[0]), uint32(stack[1]), uint32(stack[2])
	stack[0] = 0
	i, _ := ctx.Value(instanceKey{}).(*Instance)
	if i == nil || i.load == nil {
		return
	}
	if data := i.load(name, length); len(data) == int(length) && module.Memory().Write(at, data) {
		stack[0] = uint64(length)
	}
}

// Step applies one or more complete frames, which are commands and results of I/O. It
// does not retain the frames.
func (i *Instance) Step(frames []byte) error { return i.send(i.step, frames) }

// Tick advances the clock to a time in milliseconds since the epoch.
func (i *Instance) Tick(nowMillis int64) error { return i.do(i.tick, uint64(nowMillis)) }

// Ready returns output frames, or nil if there are none. They alias the instance's
// memory, and the next call invalidates them. Copy retained data, then call Advance.
func (i *Instance) Ready() ([]byte, error) {
	if i.poison != nil {
		return nil, i.poison
	}
	n, err := i.call(i.ready, 0)
	if err != nil || n == 0 {
		return nil, err
	}
	if n < 0 {
		return nil, i.failure(-n)
	}
	return i.output(n)
}

// Advance releases the memory of the output that the last Ready returned.
func (i *Instance) Advance() error { return i.do(i.advance, 0) }

// Close frees the instance.
func (i *Instance) Close(ctx context.Context) error {
	i.poison = ErrPoisoned
	return i.module.Close(ctx)
}

func (i *Instance) send(f wasm.Function, input []byte) error {
	if i.poison != nil {
		return i.poison
	}
	address, err := i.call(i.reserve, uint64(len(input)))
	if err != nil {
		return err
	}
	if address == 0 {
		return api.TooLarge(fmt.Sprintf("input of %d bytes is larger than the module accepts", len(input)))
	}
	if !i.module.Memory().Write(uint32(address), input) {
		return i.trapped(errors.New("the input arena is outside the memory"))
	}
	return i.do(f, uint64(len(input)))
}

// do calls an export that returns a code, and returns the error for that code.
func (i *Instance) do(f wasm.Function, arg uint64) error {
	if i.poison != nil {
		return i.poison
	}
	code, err := i.call(f, arg)
	if err != nil || code == codeOK {
		return err
	}
	return i.failure(code)
}

// call calls an export with one parameter or none. An error means a trap.
func (i *Instance) call(f wasm.Function, arg uint64) (int32, error) {
	i.stack[0] = arg
	if err := f.CallWithStack(i.ctx, i.stack[:]); err != nil {
		return 0, i.trapped(err)
	}
	return int32(i.stack[0]), nil
}

func (i *Instance) output(n int32) ([]byte, error) {
	address, err := i.call(i.out, 0)
	if err != nil {
		return nil, err
	}
	view, ok := i.module.Memory().Read(uint32(address), uint32(n))
	if !ok {
		return nil, i.trapped(errors.New("the output is outside the memory"))
	}
	return view, nil
}

// failure returns the error for a code.
func (i *Instance) failure(code int32) error {
	status, err := i.describe()
	if err != nil {
		return err
	}
	if code == codePoisoned {
		i.poison = fmt.Errorf("%w: %w", ErrPoisoned, status)
		return i.poison
	}
	return status
}

func (i *Instance) describe() (*api.Status, error) {
	n, err := i.call(i.lastError, 0)
	if err != nil {
		return nil, err
	}
	frame, err := i.output(n)
	if err != nil {
		return nil, err
	}
	var reply wire.ErrorReply
	if _, payload, _, err := wire.Next(frame); err != nil || reply.Parse(payload) != nil || reply.Status == nil {
		return api.Internal("the module failed without a message"), nil
	}
	return reply.Status, nil
}

func (i *Instance) trapped(err error) error {
	i.poison = fmt.Errorf("%w: %w%s", ErrPoisoned, err, i.lastGasp.suffix())
	return i.poison
}

// head retains the first maxHead bytes that are written to it.
type head struct{ text []byte }

const maxHead = 2048

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxHead-len(h.text))]...)
	return len(p), nil
}

func (h *head) suffix() string {
	if len(h.text) == 0 {
		return ""
	}
	return ": " + string(h.text)
}
