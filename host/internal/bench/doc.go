// Command bench measures watchglass against what a user would pick instead, and
// prints one line per figure: the ratio, what it is made of, the target, and
// whether it is met. A figure that misses its target is printed like any other.
//
// Both sides of a figure run in turn within one command, and in V8 each in a
// process of its own, on the same changes, which come from one seed: the objects
// are those of host/clustersim, our side of a recording is what a real connector
// sent to a real engine, and the peers' side is the same objects as Kubernetes
// list and watch JSON. A message of ours has about a hundred changes, as it does
// when a reader is not faster than its cluster. A ratio is the median of at least
// five rounds; absolute numbers say little about another machine.
//
// The figures stand in figures.go, one entry each. What runs in JavaScript is a
// command of js/bench that prints one [Result] as JSON on a line; any other
// command that does so can be a figure as well.
//
// # Where the time goes
//
// P1, by V8's profile behind the first 40,000 updates: of an update of one of 30,000
// pods, seeking the objects of a message takes 11 % and seeking what the history is
// about to let go 6 %, putting the new version into the store 14 %, making it out of
// the patch 10 %, letting the oldest version go 3 %, the view 8 %, checking the
// message 8 %, finding the watch and framing for it 13 %, JavaScript 12 %, and V8's
// collector 4 %. More than a quarter is instructions that wait for memory. The rest
// is instructions: run natively, the same engine takes half of the time or less
// (P10), for WebAssembly has no jump to anywhere and Go passes every argument
// through memory, so that calls are dear. package strip mends a part of the first;
// of the second, an update makes 78 calls. What is left to take away: the wire could
// number objects, so that no key is looked up, which takes 3 %.
//
// In Chromium our side takes as long as in Node: on a core of their own 480,000
// updates a second and 462,000. It is client-node that is 1.6 times as fast there
// (Chromium 156, Node 20): a batch is decoded and split in 1 us an event, not in 6,
// and JSON.parse takes 33 us, not 37. V8 has compiled what counts by then: from the
// fifth round on rounds get no faster, and without its baseline compiler the figure
// is the same. Nothing is sent between threads while a round is timed.
//
// Of the least time of each message over some passes: an engine that never collects
// garbage takes 2.5 % less, and one whose output nobody reads 4 to 5 %. Tried
// without a gain worth its price, each against the module as it was, message by
// message in turn in one process:
//
//	compiled with a profile of P1 and P4                 -5 to -8 %   27 kB more of brotli
//	the same, hot calls inlined up to twice what is usual      -3 %    6 kB more
//	what is before the body shared with the base        -2 to +11 %   a version in two places
//	ten messages to a step                                within noise
//	16 or 32 objects sought at once, and not 64                +1 %
//	a number of one byte read without a loop              -1 to +1 %
//	the same of up to three bytes                          0 to +1 %
//	eight bytes read by one load, where Go makes eight    within noise, P4 as well
//	memory for the events of a frame used again           -1 to +2 %
//	a version's record written field by field              -2 to 0 %
//	wasm-opt -O3 (Binaryen 108)                           within noise  31 kB more
//
// The first two are of an older module. Of the one to which package strip gives
// vectors, medians of four to eight processes in P4 and of eight to fourteen in P1:
//
//	                                                   P4      P1      brotli
//	compiled with a profile of P1 and P4             -10 %    -7 %    18 kB more
//	  our packages alone                             -11 %    -7 %    16 kB
//	    the hottest 90 %, up to a cost of 600        -10 %    -5 %     6 kB
//	    the hottest 95 %, up to 240                   -8 %    -5 %     5 kB
//	      and nothing but the scanner                 -5 %     -       1 kB
//	  a profile of nothing but the calls between our
//	  packages, the hottest 90 %                      -3 %   noise     8 kB
//	    97 or 99 %                            +5 to +13 %   noise     9 to 11 kB
//	a call less for each value that is stepped over   -2 %     -     none: done, by hand
//
// So a profile pays, and is luck as well: which large function goes into which other
// decides, and a profile is not the same twice. It brings no figure to its target.
//
// A copy in memory is a call out of the module, but one of 3 ns.
//
// P2, the longest call: 4 ms on a machine that has nothing else to do, and 12 to 20
// ms on one that has, where other processes come between. A message of a snapshot
// has 64 kB. A view is not open in P2: it opens in one call, which for 50,000
// objects takes 25 to 80 ms by what it is sorted by.
//
// P4, of an event of 5.4 kB in V8: half is the scan, of which stepping over what
// nobody wants is a fifth, the members on the way to what is wanted less than a half,
// and making texts of it a third; a quarter is storing the version and telling of it,
// mostly in memory that no cache holds; the rest is the envelope and JavaScript, and
// for the line feed 2 %. Stepping over took 17 % of all and the line feed 5 before
// package strip gave them vectors. The rest of the scan takes two and a half times as
// long in a module as natively, for jumps and calls, of which Go's modules have dear
// ones. V8 collects its garbage whenever the memory of a module grows, so that seldom
// happens. Tried without a gain: a line that is all text passed over in words, pieces
// of 16 and 64 kB instead of 500.
//
// Of two modules that are the same, one is up to a fifth faster in P1 than the other in
// one process of V8, from the first message to the last. So a comparison takes some
// processes, and the modules in another order in each.
//
// P5: each of the watches that an event concerns is some cache lines, which ten
// watches find in a cache and 10,000 do not. Tried without a gain: the filter and
// its first term in the watch's own memory, and a look at all ten watches before
// the first of them is served.
//
// P7: package strip takes 234 kB of 796. The table has what each of its steps
// does to the module after brotli -q 11, each alone but the first two:
//
//	as linked                                      795.8 kB
//	data in few segments, not in 40,000            749.0
//	and the table that finds functions, thinned    747.4
//	  lines and files by program counter           -81.6
//	  what is inlined where                        -39.3
//	  names of functions                           -21.2
//	  where a signal may preempt                    -4.6
//	  names of files                                -4.1
//	  layout of arguments                           -2.7
//	all of it                                      590.0
//	and jumps forward made branches                562.1
//
// Since then loading what was kept when it is looked at took 10 kB, which makes 1.37x
// of the 1.45x. It saves an object at the edge most of the time that it takes to wake
// up (E1).
//
// An empty reactor that is stripped alike has 291 kB, not 421.
//
// Tried on top when the module had 526 kB, and not done:
//
//	no inlining in our packages                    -15.5   an event a fifth to two fifths slower
//	no inlining at all                              -9.5
//	no inlining in the standard library             +4.8
//	no inlining of functions with closures          +0.4
//	no inlining of nine functions, the most costly  -3.7   between 0 and 1.7 each
//	GOEXPERIMENT=nogreenteagc                       -6.1   an experiment that Go will end
//	wasm-opt -Oz (Binaryen 132)                    +19.2   2.45 MB and not 2.74 before brotli
//	wasm-opt, thirteen of its passes one by one    +30 to +75
//	bodies of 144 functions of Go's runtime, which
//	  trace, profile and print, made to trap       -30.8   a list of names that nothing holds to what runs
//
// P8, by the kernel's profile (perf), on a machine with much else to do: of an event to
// 10 of 1,000 readers, 270 µs against 215, writing takes 42 %, nine tenths of which
// are the kernel's; pulling the messages out of the sessions 6 %; scanning the object
// and making the difference, which fall on ten readers and not on a hundred, 8 %;
// applying the change 5 %, most of it finding the readers; the test's source and its
// loop 6 %. Go's scheduler takes 17 % to find that there is nothing to do and to put
// threads to sleep, and its monitor 8 %, as they do in the broadcast. Most of the rest
// waits for memory, 0.1 to 0.2 µs for each cache line of a reader that was not looked
// at since the last change.
//
// What it took to get there, as a share of our time before, to 10, 100 and all, in the
// median of pairs:
//
//	few goroutines tell all readers, and not each its own     0.90  0.88  0.95
//	and past the library, by a write that cannot wait         0.85  0.73   -
//	and those goroutines stay, and what they need together    0.77  0.78  0.71
//
// The last row is of four pairs each, and of three (0.68 to 0.86 all of them). Above
// the system call the library takes a fifth of a short write. A goroutine that is made
// for each change has to grow its stack first. Tried without a gain: the goroutine
// that brings a change telling few readers itself, which holds back the next change; a
// difference of a few bytes found without an index of the base, which takes 1.3 µs off
// an event.
package main
