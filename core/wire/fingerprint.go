package wire

// Fingerprint stands for the bytes of the frames between an engine and the program
// around it: the first 24 bits of a hash of their samples in testdata/wire. The
// module tells it, so that no program drives a module whose frames are others. The
// frames between connectors and readers have [Version].
const Fingerprint = 0xe755d9
