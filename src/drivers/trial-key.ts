/** A key to try an algorithm with, where only trying tells whether a driver has it. */

/** No byte twice in a row, halves that differ (XTS), no weak key of DES. */
export function trialKey(bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => (i * 37 + 11 + (i >> 3)) & 0xff);
}
