/** Keys that people paste with the rest. Only that they are there is kept, and where; never a part of one. */
import type { Document, Quote } from './document.js';

export interface Secret {
  readonly what: string;
  readonly quote: Quote;
}

const KINDS: readonly (readonly [what: string, RegExp])[] = [
  ['a private key in PEM', /^-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY-----/],
  [
    'a private key of WireGuard',
    /^(?:PrivateKey|PresharedKey|option (?:private|preshared)_key)\s{0,3}[= ]\s{0,3}['"]?[A-Za-z0-9+/]{43}=/,
  ],
  ['an OpenVPN static key', /^-----BEGIN OpenVPN Static key/],
  ['a key of an IPsec connection', /\b(?:enc|auth|auth-trunc|aead) \S{3,60} 0x[0-9a-f]{16,}/],
  ['a volume key', /^(?:MK dump|Volume Key|Volume key|Dumped key):?\s{0,16}(?:[0-9a-f]{2} ){7}/],
];

export function readSecrets(document: Document): Secret[] {
  const out = new Map<string, Secret>();
  for (const line of document.lines) {
    for (const [what, pattern] of KINDS) {
      if (!pattern.test(line.text) || out.has(what)) continue;
      // The line itself is not quoted, whatever redaction would leave of it.
      const { source } = document.quote({ number: line.number, text: '' });
      out.set(what, { what, quote: { source, line: line.number, text: `${what}: [redacted]` } });
    }
  }
  return [...out.values()];
}
