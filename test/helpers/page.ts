/** The report's page as a tree, read as browsers read it, and its results. */
import { type DefaultTreeAdapterTypes, type ParserError, parse } from 'parse5';
import type { ResultSet } from '#src/bench/model.js';
import { RESULTS_FORMAT } from '#src/bench/model.js';

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

export class Tree {
  readonly errors: string[] = [];
  /** In document order. */
  readonly elements: Element[] = [];

  constructor(html: string) {
    const document = parse(html, {
      sourceCodeLocationInfo: true,
      onParseError: ({ code, startLine, startCol }: ParserError) =>
        this.errors.push(`${code} at ${startLine}:${startCol}`),
    });
    const walk = (node: Node): void => {
      if ('tagName' in node) this.elements.push(node);
      if ('childNodes' in node) for (const child of node.childNodes) walk(child);
    };
    walk(document);
  }

  /** Elements of these names; all, if none is named. */
  all(...names: string[]): Element[] {
    return this.elements.filter(({ tagName }) => names.length === 0 || names.includes(tagName));
  }

  with(attribute: string, value?: string): Element[] {
    return this.elements.filter((element) => {
      const own = attributeOf(element, attribute);
      return value === undefined ? own !== undefined : own === value;
    });
  }

  /** Elements with this among their classes. */
  ofClass(name: string): Element[] {
    return this.elements.filter((element) => attributeOf(element, 'class')?.split(' ').includes(name));
  }

  /** The results that are embedded. */
  json(): ResultSet[] {
    const [script] = this.all('script');
    return JSON.parse(textOf(script!)) as ResultSet[];
  }
}

export function attributeOf(element: Element, name: string): string | undefined {
  return element.attrs.find((own) => own.name === name)?.value;
}

export function textOf(node: Node): string {
  if ('value' in node) return node.value;
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';
}

/** The value that an RFC 6901 pointer leads to. */
export function pointedAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((at, key) => (at as Record<string, unknown>)[key], value);
}

/** A session of hwcrypt with everything that the model has. */
export function wholeSet(): ResultSet {
  const sizes = [16, 64, 256, 1024, 8192, 65536];
  const driver = (
    name: string,
    kernelDriver: string | undefined,
    fixedNs: number,
    byteNs: number,
    cpu: number,
  ) =>
    sizes.map((requestBytes) => {
      const ns = fixedNs + byteNs * requestBytes;
      const requests = Math.round(1e9 / ns);
      return {
        algorithm: 'aes-128-cbc',
        algorithmText: 'aes-128-cbc',
        operation: 'encrypt' as const,
        driver: name,
        ...(kernelDriver === undefined ? {} : { kernelDriver }),
        requestBytes,
        requests,
        elapsedNs: requests * ns,
        userNs: requests * ns * cpu * 0.3,
        systemNs: requests * ns * cpu * 0.7,
        latency: { p50Ns: ns, p90Ns: ns * 1.1, p99Ns: ns * 1.9 },
        interrupts: kernelDriver === undefined ? 0 : requests,
        rounds: { count: 5, spread: requestBytes === 64 ? 0.4 : 0.02 },
        bytesPerSecond: (requestBytes * 1e9) / ns,
        claimedBytesPerSecond: (requestBytes * 1e9) / ns,
        basis: 'elapsed' as const,
        status: 'ok' as const,
        estimated: false,
        doubts:
          requestBytes === 64 ? [{ code: 'NOISY' as const, text: 'the rounds are up to 40 % apart' }] : [],
      };
    });
  return {
    format: RESULTS_FORMAT,
    version: 1,
    tool: 'hwcrypt',
    toolVersion: '0.1.0',
    source: 'session.json',
    measuredAt: '2026-11-30T12:00:00Z',
    machine: {
      model: 'Example board',
      cpu: 'Example core',
      cpus: 2,
      architecture: 'aarch64',
      memoryBytes: 2 ** 29,
      loadBefore: 0.1,
    },
    runs: [
      {
        label: 'all drivers',
        command: 'hwcrypt speed -evp aes-128-cbc',
        measurements: [
          ...driver('libcrypto', undefined, 300, 8, 1),
          ...driver('afalg', 'cbc-aes-engine', 20_000, 1.5, 0.2),
          {
            algorithm: 'aes-128-cbc',
            algorithmText: 'aes-128-cbc',
            operation: 'encrypt',
            driver: 'cryptodev',
            requestBytes: 16,
            basis: 'elapsed',
            status: 'unavailable',
            estimated: false,
            doubts: [],
          },
        ],
        kdfs: [
          {
            kdf: 'pbkdf2',
            algorithmText: 'PBKDF2-sha256',
            hash: 'sha256',
            keyBits: 256,
            iterationsPerSecond: 123_456,
            status: 'ok',
            doubts: [],
          },
          {
            kdf: 'pbkdf2',
            algorithmText: 'PBKDF2-whirlpool',
            hash: 'whirlpool',
            status: 'unavailable',
            doubts: [],
          },
          {
            kdf: 'argon2id',
            algorithmText: 'argon2id',
            iterations: 4,
            memoryKiB: 65536,
            threads: 2,
            keyBits: 256,
            targetMs: 2000,
            status: 'ok',
            doubts: [],
          },
        ],
        doubts: [],
        notes: ['a note'],
      },
    ],
    skipped: [{ line: 3, reason: 'no row', text: 'what?' }],
    notes: [],
  };
}
