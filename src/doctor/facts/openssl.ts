/** OpenSSL: versions, engines and providers, their configuration, and what an engine says is behind its ciphers (DUMP_INFO). */
import { type HardwareVerdict, judgeHardware } from '../../drivers/hardware.js';
import { moduleName } from '../../linux/proc.js';
import type { Document, Quote, Sourced } from './document.js';

export interface EngineListing {
  readonly id: string;
  /** Algorithms that it registers, as `openssl engine -c` prints them. Absent without -c. */
  readonly algorithms?: readonly string[];
  readonly available?: boolean;
  readonly quote: Quote;
}

/** One line of DUMP_INFO. */
export interface DumpEntry {
  readonly engine: 'devcrypto' | 'afalg';
  readonly kind: 'cipher' | 'digest';
  /** OpenSSL's name: `AES-128-CBC`. */
  readonly algorithm: string;
  readonly driver?: string;
  /** In brackets: `hw accelerated`, `software`, `acceleration status unknown`. */
  readonly claim?: string;
  readonly thresholdBytes?: number;
  readonly failed: boolean;
  /** Of the driver's name, which counts more than the claim. */
  readonly verdict?: HardwareVerdict;
  readonly quote: Quote;
}

/** What cryptodev's examples print: `Got cbc(aes) with driver sahara-cbc-aes`. */
export interface CryptodevSession {
  readonly algorithm: string;
  readonly driver: string;
  /** The program said `Note: This is not an accelerated cipher`. */
  readonly calledSoftware?: Quote;
  /** The device's own flag for hardware (SIOP_FLAG_KERNEL_DRIVER_ONLY), where a session was opened here. */
  readonly flag?: boolean;
  readonly verdict: HardwareVerdict;
  readonly quote: Quote;
}

export interface Openssl {
  /** Each once, the newest last. */
  readonly versions: readonly Sourced<string>[];
  /** 1.0.x: `-DHAVE_CRYPTODEV` among the compiler's flags. Absent where the line is missing or cut. */
  readonly builtWithCryptodev?: boolean;
  readonly engines: readonly EngineListing[];
  /** `openssl engine` was run, so what it does not list is not there by itself. */
  readonly listed: boolean;
  /** Libraries in the folder of engines: `devcrypto`, `afalg`. */
  readonly files: ReadonlyMap<string, Quote>;
  /** Engines that a configuration file, or UCI, turns on. */
  readonly configured: ReadonlyMap<string, Quote>;
  /** `default_algorithms = ALL`, in whatever section. */
  readonly everything?: Quote;
  readonly dumps: readonly DumpEntry[];
  readonly sessions: readonly CryptodevSession[];
  /** An engine's library could not be loaded, or loaded and refused to start. */
  readonly loadFailures: ReadonlyMap<string, { readonly why: 'absent' | 'refused'; readonly quote: Quote }>;
  /** The program does not know engines at all. */
  readonly noEngineSupport?: Quote;
}

/** Engines of OpenSSL that hand work to hardware; others (`dynamic`, `rdrand`, `pkcs11`) do not concern the doctor. */
export const HARDWARE_ENGINE =
  /^(?:devcrypto|cryptodev|afalg(?:_sync)?|af_alg|qat(?:engine|-hw|-sw)?|uadk(?:_engine)?|kae|padlock|ubsec|aesni)$/;

const VERSION =
  /^(?:\S{0,60}:\s)?(?:(?:Open|Libre)SSL (\d{1,2}\.\d{1,2}(?:\.\d{1,3})?[a-z]{0,3}(?:-\S{1,20})?)\b(?!.{0,40}\bcommand)|version: (\d{1,2}\.\d{1,2}\.\d{1,3}\S{0,20}))/;

export function readOpenssl(document: Document): Openssl {
  const versions = new Map<string, Sourced<string>>();
  const engines = new Map<string, EngineListing>();
  const files = new Map<string, Quote>();
  const configured = new Map<string, Quote>();
  const dumps: DumpEntry[] = [];
  const sessions: CryptodevSession[] = [];
  const failures = new Map<string, { why: 'absent' | 'refused'; quote: Quote }>();
  let everything: Quote | undefined;
  let noEngineSupport: Quote | undefined;
  let builtWithCryptodev: boolean | undefined;
  let listed = false;
  let current: { id: string; quote: Quote; algorithms?: string[]; available?: boolean } | undefined;
  let dumping: DumpEntry['engine'] = 'devcrypto';
  /** The last of an engine's errors: `e_afalg.c:859` comes before the line that names nobody. */
  let refusing = false;
  /** The engine that a command line named last: some messages name none. */
  let asked: string | undefined;
  const measures = document.lines.some(({ text }) =>
    /^(?:built on:|Doing \S|You have chosen to measure)|\bopenssl\b/i.test(text),
  );
  const fail = (id: string, why: 'absent' | 'refused', quote: Quote): void => {
    if (!failures.has(id)) failures.set(id, { why, quote });
  };
  const flush = (): void => {
    if (current) {
      engines.set(current.id, current);
      if (current.available === false && HARDWARE_ENGINE.test(current.id))
        fail(current.id, 'refused', current.quote);
    }
    current = undefined;
  };
  for (const line of document.lines) {
    const { text, section } = line;
    const quote = (): Quote => document.quote(line);
    const version = section === 'log' ? undefined : VERSION.exec(text);
    // `version: 6.6.93` is also what ethtool and others print.
    if (version && (version[2] === undefined || measures)) {
      const value = (version[1] ?? version[2])!;
      if (!versions.has(value)) versions.set(value, { value, quote: quote() });
    }
    if (/^compiler:/.test(text)) {
      if (/-DHAVE_CRYPTODEV\b/.test(text)) builtWithCryptodev = true;
      // The cryptodev define comes before the optimisation flags: a line that shows none of those was cut.
      else if (/-DOPENSSL_NO_|-O[0-3s]\b/.test(text)) builtWithCryptodev ??= false;
    }
    listed ||= section === 'openssl-engines' || /\(dynamic\) Dynamic engine loading support/.test(text);
    const engine = /^\(([a-z][\w-]{1,30})\) (\S.{0,80})$/.exec(text);
    if (engine && (section === undefined || /^openssl/.test(section))) {
      flush();
      const id = engine[1]!;
      if (section !== 'openssl-dump') current = { id, quote: quote() };
      if (id === 'afalg' || id === 'devcrypto') dumping = id;
    } else if (current) {
      const list = /^\[\s{0,2}([A-Z0-9][\w-]{1,30}(?:, [\w-]{1,30}){0,120})\s{0,2}\]?$/.exec(text)?.[1];
      if (/^\[ (?:un)?available \]$/.test(text)) current.available = !text.includes('un');
      else if (list !== undefined) current.algorithms = list.split(', ');
      // What the engine itself complains of stands between its name and its state.
      else if (!/\b(?:err|error|warn(?:ing)?)\b/i.test(text)) flush();
    }
    const dump = /^(Cipher|Digest) ([\w-]{2,30}), NID=\d{1,6}, (\/dev\/crypto|AF_ALG) info: (.{1,200})$/.exec(
      text,
    );
    if (dump) {
      const [, kind, algorithm, way, rest] = dump as unknown as [string, string, string, string, string];
      const driver = /\bdriver=(\S{1,80}?)(?=[\s,.]*(?: \(|,|$))/.exec(rest)?.[1];
      const claim = /\((hw accelerated|software|acceleration status unknown)\)/.exec(rest)?.[1];
      const threshold = /\bdefault threshold=(\d{1,9})/.exec(rest)?.[1];
      dumps.push({
        engine: way === 'AF_ALG' ? 'afalg' : 'devcrypto',
        kind: kind === 'Cipher' ? 'cipher' : 'digest',
        algorithm,
        ...(driver === undefined ? {} : { driver, verdict: judgeHardware({ driver }) }),
        ...(claim === undefined ? {} : { claim }),
        ...(threshold === undefined ? {} : { thresholdBytes: Number(threshold) }),
        failed: /\bfailed\b/.test(rest),
        quote: quote(),
      });
    }
    const got = /\b[Gg]ot (\S{1,60}) with driver (\S{1,80})$/.exec(text);
    if (got) {
      const [, algorithm, driver] = got as unknown as [string, string, string];
      sessions.push({ algorithm, driver, verdict: judgeHardware({ driver }), quote: quote() });
    }
    if (/not an? accelerated (?:cipher|hash|algorithm)/i.test(text) && sessions.length > 0) {
      sessions.push({ ...sessions.pop()!, calledSoftware: quote() });
    }
    if (section === 'openssl-engine-files' || section === undefined) {
      const library = /\/engines[\w.-]{0,12}\/(?:lib)?([\w-]{2,30})\.so$/.exec(text)?.[1];
      if (library !== undefined && !files.has(library)) files.set(library, quote());
    }
    if (section === 'openssl-config' || section === 'openssl-uci' || section === undefined) {
      const id =
        /(?:^|[\s:])(devcrypto|afalg|cryptodev|qatengine)\s{0,4}=\s{0,4}(?:devcrypto|afalg|cryptodev|qatengine)\w{0,20}$/.exec(
          text,
        )?.[1] ??
        /(?:^|[\s:])engine_id\s{0,4}=\s{0,4}(devcrypto|afalg|cryptodev|qatengine)$/.exec(text)?.[1] ??
        /^openssl\.(devcrypto|afalg)\.enabled='?1'?$/.exec(text)?.[1];
      if (id !== undefined && !configured.has(id)) configured.set(id, quote());
      if (/(?:^|[\s:])default_algorithms\s{0,4}=\s{0,4}ALL\b/i.test(text)) everything ??= quote();
    }
    if (/e_(?:afalg|devcrypto)\.c[:(]\d+/.test(text)) {
      refusing = true;
      dumping = text.includes('e_afalg') ? 'afalg' : 'devcrypto';
      if (!/bind socket/.test(text) && !failures.has(dumping))
        failures.set(dumping, { why: 'refused', quote: quote() });
    }
    asked = /\s-engine\s+["']?([a-z][\w-]{1,30})/i.exec(text)?.[1] ?? asked;
    // OpenSSL 1.1.0 says this, and what it then measures is its own code.
    if (/^can't use that engine$/.test(text) && asked !== undefined) fail(asked, 'refused', quote());
    if (
      /\bqat_engine_init:|\/dev\/qat_dev_processes|\bThere is 0 QAT acceleration device|\b(?:icp|qat)_dev\d.{0,160}\bstate ?[=:] ?down\b/.test(
        text,
      )
    )
      fail(asked?.startsWith('qat') ? asked : 'qat', 'refused', quote());
    const unknown =
      /\bENGINE_by_id\(["']?([\w-]{2,30})["']?\) failed|\bno such engine\b.{0,120}\bid=([\w-]{2,30})/.exec(
        text,
      );
    if (unknown) fail((unknown[1] ?? unknown[2])!, 'absent', quote());
    if (/^\/dev\/crypto not present, not enabling devcrypto engine/.test(text) && !files.has('devcrypto'))
      files.set('devcrypto', quote());
    const absent =
      /could not load the shared library.{0,80}filename\((?:[^()]{0,120}\/)?(?:lib)?([\w-]{2,30})\.so\)/.exec(
        text,
      )?.[1];
    if (absent !== undefined) {
      const id = moduleName(absent);
      if (!(refusing && id === dumping) && !failures.has(id))
        failures.set(id, { why: 'absent', quote: quote() });
    }
    if (
      /\bUnknown (?:option|command):? ?['"]?-?engine\b|Invalid command ['"]engine['"]|'engine' is not a(?:n openssl)? command|engine support (?:has been )?(?:removed|disabled)/i.test(
        text,
      )
    ) {
      noEngineSupport ??= quote();
    }
  }
  flush();
  return {
    versions: [...versions.values()].sort((a, b) => compareVersions(a.value, b.value)),
    ...(builtWithCryptodev === undefined ? {} : { builtWithCryptodev }),
    engines: [...engines.values()],
    listed,
    files,
    configured,
    ...(everything ? { everything } : {}),
    dumps,
    sessions,
    loadFailures: failures,
    ...(noEngineSupport ? { noEngineSupport } : {}),
  };
}

/** `1.0.2q` → [1, 0, 2]. */
export function versionNumbers(version: string): readonly [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return [major, minor, patch];
}

export function versionAtLeast(version: string, major: number, minor = 0): boolean {
  const [own, ownMinor] = versionNumbers(version);
  return own > major || (own === major && ownMinor >= minor);
}

function compareVersions(a: string, b: string): number {
  const [one, other] = [versionNumbers(a), versionNumbers(b)];
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}
