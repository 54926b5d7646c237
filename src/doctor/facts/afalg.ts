/** The way of user programs into the kernel: AF_ALG, its sysctls and filters, and /dev/crypto. */
import { isPrivileged, parseStatus } from '../../linux/proc.js';
import type { Document, Quote, Sourced } from './document.js';

export interface UserWays {
  /** Is protocol family ALG registered? Absent where the text does not say. It is registered on demand: `no` does not mean that it cannot be. */
  readonly registered?: Sourced<boolean>;
  /** `af_alg_restrict`; `none` where the text says that there is no such file (before Linux 7.3). */
  readonly restrict?: Sourced<number | 'none'>;
  readonly seccomp?: Sourced<number>;
  readonly privileged?: boolean;
  /** /dev/crypto: is it there? */
  readonly device?: Sourced<boolean>;
  readonly fips?: Sourced<boolean>;
  /** Seen by trying, here: AF_ALG refuses an engine's driver that the kernel itself uses. */
  readonly masked?: Sourced<boolean>;
}

export function readUserWays(document: Document): UserWays {
  const out: { -readonly [K in keyof UserWays]: UserWays[K] } = {};
  let protocols: Quote | undefined;
  let status = '';
  let uidMap: string | undefined;
  for (const line of document.in('af-alg', 'dev-crypto')) {
    const { text } = line;
    const quote = (): Quote => document.quote(line);
    if (/^protocol\s+size\s+sockets/.test(text)) protocols ??= quote();
    if (/^ALG\s+\d+\s+\d+/.test(text)) out.registered = { value: true, quote: quote() };
    const restrict = /^(?:crypto\.|\/proc\/sys\/crypto\/)?af_alg_restrict\s{0,4}[=:]\s{0,4}(\d)$/.exec(
      text,
    )?.[1];
    if (restrict !== undefined) out.restrict ??= { value: Number(restrict), quote: quote() };
    else if (/af_alg_restrict.{0,4}(?:: )?.{0,20}No such file/i.test(text))
      out.restrict ??= { value: 'none', quote: quote() };
    if (/^(?:CapEff|Seccomp):/.test(text)) status += `${text}\n`;
    if (/^Seccomp:\s*\d$/.test(text)) out.seccomp ??= { value: Number(text.at(-1)), quote: quote() };
    const map = /^uid_map:\s*(.{1,60})$/.exec(text)?.[1];
    if (map !== undefined) uidMap ??= map;
    if (/\/dev\/crypto\b/.test(text)) {
      if (/No such file|cannot access|cannot open|not found|not present/i.test(text))
        out.device ??= { value: false, quote: quote() };
      else if (/^c[rwx-]{9}/.test(text)) out.device ??= { value: true, quote: quote() };
    }
    const fips = /^(?:crypto\.)?fips_enabled\s{0,4}=\s{0,4}(\d)$/.exec(text)?.[1];
    if (fips !== undefined) out.fips ??= { value: fips === '1', quote: quote() };
  }
  if (protocols) out.registered ??= { value: false, quote: protocols };
  if (status.includes('CapEff')) out.privileged = isPrivileged(parseStatus(status), uidMap);
  return out;
}
