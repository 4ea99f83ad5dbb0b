package strip

import "slices"

// A call of a Go function consists of thirteen instructions. They push the return address
// onto Go's stack, call the function, reload the stack pointer, and return if the
// goroutine was suspended. Half of all calls are to a few functions that report a fault,
// grow the stack or print the text of a fatal error. These are the cold functions. For
// each cold function, addCold adds a function to the module that pushes the return
// address and calls the cold function.
//
// A call to an added function adds a frame to the stack of the WebAssembly engine, but
// not to Go's stack. A suspended goroutine resumes the functions that the return
// addresses on Go's stack identify. An added function is therefore never resumed. To Go's
// runtime, the call to the cold function looks like a tail call.

// faults are functions that do not return to their caller. A call to a fault function
// therefore ends a path through the caller. If a fault function did return, the module
// would trap.
var faults = []string{
	"runtime.sigpanic", "runtime.morestack", "runtime.morestack_noctxt",
	"runtime.goPanicIndex", "runtime.goPanicIndexU", "runtime.goPanicSliceAlen", "runtime.goPanicSliceAlenU",
	"runtime.goPanicSliceAcap", "runtime.goPanicSliceAcapU", "runtime.goPanicSliceB", "runtime.goPanicSliceBU",
	"runtime.goPanicSlice3Alen", "runtime.goPanicSlice3Acap", "runtime.goPanicSlice3B", "runtime.goPanicSlice3C",
	"runtime.throw", "runtime.gopanic", "runtime.panicdivide", "runtime.panicshift",
	"runtime.panicunsafestringlen", "runtime.panicunsafestringnilptr", "runtime.panicdottypeE", "runtime.panicdottypeI",
}

var printers = []string{
	"runtime.printlock", "runtime.printunlock", "runtime.printstring", "runtime.printuint", "runtime.printint",
	"runtime.printhex", "runtime.printnl", "runtime.printsp", "runtime.printpointer", "runtime.printbool",
}

// coldCall describes the calls to one cold function.
type coldCall struct {
	callee uint64 // index of the function in the module
	leaves bool   // the callee does not return
	added  uint64 // index of the added function
}

// addCold adds one function to the module for each cold function in names. It returns a
// coldCall for each cold function, by the index of that function.
func (m *module) addCold(names []string) (map[uint64]coldCall, error) {
	calls := make(map[uint64]coldCall)
	imports, functions, err := m.functions()
	if err != nil {
		return nil, err
	}
	var added []code
	for number, name := range names {
		leaves := slices.Contains(faults, name)
		if !leaves && !slices.Contains(printers, name) {
			continue
		}
		c := coldCall{imports + uint64(number), leaves, imports + functions + uint64(len(added))}
		calls[c.callee] = c
		added = append(added, c.code())
	}
	return calls, m.add([]byte{0x60, 2, 0x7f, 0x7e, 1, 0x7f}, added)
}

// code returns the code of the added function. The parameters of that function are the
// stack pointer and the return address.
func (c coldCall) code() code {
	const stack, from = 0, 1
	called := join(
		set(stack, i32(sub, get(stack), number(8))), setStackPointer(get(stack)),
		get(stack), get(from), code{0x37, 3, 0},
		number(0), code(with(0x10, c.callee).text),
	)
	if c.leaves {
		called = join(when(called, number(1), leave), code{0x00})
	}
	return join(code{0}, called, code{end})
}

// coldCalls returns the instructions with calls to the added functions instead of calls
// to cold functions.
func coldCalls(steps []step, calls map[uint64]coldCall) []step {
	var out []step
	for len(steps) > 0 {
		if !begins(steps, pushAndCall...) {
			out, steps = append(out, steps[0]), steps[1:]
			continue
		}
		c, ok := calls[steps[9].operand()]
		if !ok {
			out, steps = append(out, steps[:10]...), steps[10:]
			continue
		}
		out = append(out, getStack, steps[6], with(0x10, c.added))
		steps = steps[10:]
		if c.leaves && begins(steps, reloadAndLeave...) {
			out, steps = append(out, returns), steps[3:]
		}
	}
	return out
}

var (
	pushAndCall = []step{
		getStack, plain(i32Const, 8), plain(sub), teeStack, setStack,
		getStack, anyLong, plain(0x37, 3, 0), plain(i32Const, 0), plain(0x10),
	}
	// endlessCall matches a call to an added function whose callee does not return.
	endlessCall    = []step{anyLong, plain(0x10), returns}
	reloadAndLeave = []step{plain(0x23, 0), plain(opLocalSet, 1), plain(opBrIf)}
)
