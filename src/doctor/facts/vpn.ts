/** VPNs in the texts, and the ciphers that they use: status lines, configurations and logs of WireGuard, IPsec and OpenVPN. Keys in them are not kept. */
import type { Document, Quote } from './document.js';

export interface VpnUse {
  readonly by: 'WireGuard' | 'IPsec' | 'OpenVPN';
  /** The kernel's name: `gcm(aes)`, `cbc(aes)`, `ctr(aes)`, `rfc7539(chacha20,poly1305)`. Absent where the text does not say. */
  readonly algorithm?: string;
  /** With a cipher that needs one: `hmac(sha256)`. */
  readonly mac?: string;
  /** Only spoken of, in somebody's sentence. */
  readonly mentioned?: true;
  readonly quote: Quote;
}

/** `ESP:AES_CBC-256/HMAC_SHA2_256_128`, `esp=aes256-sha256-modp2048`, `esp_proposals = aes128gcm16`, `phase2alg=aes_gcm-null`. */
const ESP =
  /\bESP:\s?(\S{3,60})|^(?:esp|esp_proposals|phase2alg|ike_esp)\s{0,4}=\s{0,4}(\S{3,80})|\b(?:enc|aead) ((?:rfc\d{4}\()?(?:gcm|cbc|ctr|rfc7539)\([\w,]{3,24}\)\)?)(?= 0x|\s)/i;

/** Its log, its command line, its configuration. */
const OPENVPN =
  /\bData Channel(?: (?:En|De)crypt)?: [Cc]ipher '([\w-]{3,24})'|--(?:data-ciphers|cipher) ([\w:-]{3,80})|^(?:data-ciphers(?:-fallback)?|ncp-ciphers|cipher) ["']?(AES[\w:-]{3,80}|CHACHA[\w:-]{3,80}|BF-CBC)\b/;

const WIREGUARD =
  /^interface: wg\w{0,12}$|^latest handshake: |^wireguard\s+\d{1,9}\s+\d|\bwireguard: WireGuard \d|^\[WireGuard|\bwg-quick (?:up|down)\b|\boption proto ['"]?wireguard/;

export function readVpn(document: Document): VpnUse[] {
  const uses = new Map<string, VpnUse>();
  const add = (use: VpnUse): void => {
    const key = `${use.by} ${use.algorithm} ${use.mac}`;
    if (!uses.has(key) && uses.size < 20) uses.set(key, use);
  };
  let mentioned: Quote | undefined;
  for (const line of document.loose) {
    const { text } = line;
    if (text.length > 1200) continue;
    const quote = (): Quote => document.quote(line);
    const esp = ESP.exec(text);
    const words = esp?.[1] ?? esp?.[2] ?? esp?.[3];
    if (words !== undefined) {
      const algorithm = cipherOf(words);
      if (algorithm !== undefined) {
        const mac = macOf(words);
        add({
          by: 'IPsec',
          algorithm,
          ...(algorithm === 'cbc(aes)' || algorithm === 'ctr(aes)' ? { mac: mac ?? 'hmac(sha256)' } : {}),
          quote: quote(),
        });
      }
    }
    const openvpn = OPENVPN.exec(text);
    const named = openvpn?.[1] ?? openvpn?.[2] ?? openvpn?.[3];
    if (named !== undefined) {
      const algorithm = cipherOf(named);
      if (algorithm !== undefined) add({ by: 'OpenVPN', algorithm, quote: quote() });
    }
    if (WIREGUARD.test(text))
      add({ by: 'WireGuard', algorithm: 'rfc7539(chacha20,poly1305)', quote: quote() });
    else if (/\bwireguard\b/i.test(text)) mentioned ??= quote();
  }
  if (mentioned && ![...uses.values()].some(({ by }) => by === 'WireGuard'))
    add({ by: 'WireGuard', algorithm: 'rfc7539(chacha20,poly1305)', mentioned: true, quote: mentioned });
  return [...uses.values()];
}

function cipherOf(words: string): string | undefined {
  if (/chacha/i.test(words)) return 'rfc7539(chacha20,poly1305)';
  if (!/aes/i.test(words)) return undefined;
  if (/gcm/i.test(words)) return 'gcm(aes)';
  if (/ctr/i.test(words)) return 'ctr(aes)';
  if (/ccm/i.test(words)) return 'ccm(aes)';
  // strongSwan's `aes256-sha256` is CBC.
  return 'cbc(aes)';
}

function macOf(words: string): string | undefined {
  const bits = /sha2?[-_]?(256|384|512)/i.exec(words)?.[1];
  if (bits !== undefined) return `hmac(sha${bits})`;
  if (/sha1?\b|sha1|_SHA_/i.test(words)) return 'hmac(sha1)';
  return /md5/i.test(words) ? 'hmac(md5)' : undefined;
}
