/** What `explain` weighs: facts about this kernel and process, gathered when something has failed and not before. */
import {
  type AlgorithmList,
  type KernelVersion,
  listAlgorithms,
  type ModuleIndex,
  type ModuleRule,
  parseHasAlgProtocol,
  readCryptoSysctls,
  readKernelVersion,
  readModuleIndex,
  readModuleRules,
  readModules,
  readNumber,
  readPrivileged,
  readStatus,
  readText,
} from '../../linux/index.js';

export interface Facts {
  readonly kernel: KernelVersion | undefined;
  /** /proc/sys/crypto/af_alg_restrict; undefined where there is no such file. */
  readonly restrict: number | undefined;
  /** CAP_NET_ADMIN or CAP_SYS_ADMIN in the initial user namespace. */
  readonly privileged: boolean;
  readonly algorithms: AlgorithmList;
  /** Names of loaded modules; undefined where /proc/modules cannot be read. */
  readonly loaded: ReadonlySet<string> | undefined;
  readonly rules: readonly ModuleRule[];
  readonly index: ModuleIndex;
  /** Does the kernel have the protocol family (/proc/net/protocols)? undefined where that cannot be read. */
  readonly registered: boolean | undefined;
  /** Seccomp mode of this process, 2 with a filter. */
  readonly seccomp: number | undefined;
  /** Bytes of kernel memory that one socket may take for keys and requests. */
  readonly optmemMax: number | undefined;
  /**
   * Seen by trying: are drivers that work off the CPU out of AF_ALG's reach here? undefined where there was none to try.
   */
  readonly offCpuMasked: boolean | undefined;
}

/**
 * The facts of this machine; each is read at its first use. `tryOffCpu` is the caller's since it opens sockets.
 * `stable` keeps what is large and seldom changes (the index of modules, the rules of modprobe.d) from one to the next.
 */
export class LiveFacts implements Facts {
  readonly #root: string;
  readonly #tryOffCpu: (list: AlgorithmList) => boolean | undefined;
  readonly #kept = new Map<string, unknown>();
  readonly #stable: Map<string, unknown>;

  constructor(
    tryOffCpu: (list: AlgorithmList) => boolean | undefined = () => undefined,
    stable: Map<string, unknown> = new Map(),
    root = '/',
  ) {
    this.#tryOffCpu = tryOffCpu;
    this.#stable = stable;
    this.#root = root;
  }

  #once<T>(name: string, read: () => T, kept = this.#kept): T {
    if (!kept.has(name)) kept.set(name, read());
    return kept.get(name) as T;
  }

  get kernel(): KernelVersion | undefined {
    return this.#once('kernel', () => readKernelVersion(this.#root));
  }

  get restrict(): number | undefined {
    return this.#once('restrict', () => {
      const text = readCryptoSysctls(this.#root).get('af_alg_restrict');
      return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
    });
  }

  get privileged(): boolean {
    return this.#once('privileged', () => readPrivileged(this.#root));
  }

  get algorithms(): AlgorithmList {
    return this.#once('algorithms', listAlgorithms);
  }

  get loaded(): ReadonlySet<string> | undefined {
    return this.#once('loaded', () => {
      const modules = readModules(this.#root);
      return modules && new Set(modules.map((module) => module.name));
    });
  }

  get rules(): readonly ModuleRule[] {
    return this.#once('rules', () => readModuleRules(this.#root), this.#stable);
  }

  get index(): ModuleIndex {
    const release = this.kernel?.release ?? '';
    return this.#once('index', () => readModuleIndex(release, this.#root), this.#stable);
  }

  get registered(): boolean | undefined {
    return this.#once('registered', () => {
      const text = readText('/proc/net/protocols', this.#root);
      return text === undefined ? undefined : parseHasAlgProtocol(text);
    });
  }

  get seccomp(): number | undefined {
    return this.#once('seccomp', () => readStatus(this.#root).seccomp);
  }

  get optmemMax(): number | undefined {
    return this.#once('optmemMax', () => readNumber('/proc/sys/net/core/optmem_max', this.#root));
  }

  get offCpuMasked(): boolean | undefined {
    return this.#once('offCpuMasked', () => this.#tryOffCpu(this.algorithms));
  }
}
