package wire

// Fingerprint identifies the format of the frames between an engine and its program. It is
// the first 24 bits of a hash of their samples in testdata/wire. A program checks the
// module's fingerprint before it uses the module. [Version] identifies the format of the
// frames between connectors and readers.
const Fingerprint = 0x065c72
