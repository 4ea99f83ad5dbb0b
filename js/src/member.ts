// What an engine and its members have in common. A page whose engine runs in a worker
// loads this module without the engine.

/** The number of IDs of a member. The high bits of an ID identify the member. */
export const idsPerMember = 0x10000;

/** The maximum size of the commands that are batched into one step. */
export const batchBytes = 1 << 20;
