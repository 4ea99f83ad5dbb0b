/**
 * Splits a recording into its chunks, which share the buffer of the recording. Each chunk is
 * preceded by its length as a little-endian uint32.
 */
export function chunks(recording) {
  const view = new DataView(recording.buffer, recording.byteOffset, recording.byteLength);
  const parts = [];
  for (let at = 0; at < recording.length; ) {
    const n = view.getUint32(at, true);
    parts.push(recording.subarray(at + 4, at + 4 + n));
    at += 4 + n;
  }
  return parts;
}
