/** What `explain` weighs: facts about this kernel and process, gathered when something has failed and not before. */
import {
  type AlgorithmList,
  parseHasAlgProtocol,
  readCryptoSysctls,
  readNumber,
  readPrivileged,
  readStatus,
  readText,
} from '../../linux/index.js';
import { type KernelFacts, LiveKernelFacts } from '../kernel-facts.js';

export interface Facts extends KernelFacts {
  /** /proc/sys/crypto/af_alg_restrict; undefined where there is no such file. */
  readonly restrict: number | undefined;
  /** CAP_NET_ADMIN or CAP_SYS_ADMIN in the initial user namespace. */
  readonly privileged: boolean;
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

/** The facts of this machine; each is read at its first use. `tryOffCpu` is the caller's since it opens sockets. */
export class LiveFacts extends LiveKernelFacts implements Facts {
  readonly #tryOffCpu: (list: AlgorithmList) => boolean | undefined;

  constructor(
    tryOffCpu: (list: AlgorithmList) => boolean | undefined = () => undefined,
    stable: Map<string, unknown> = new Map(),
    root = '/',
  ) {
    super(stable, root);
    this.#tryOffCpu = tryOffCpu;
  }

  get restrict(): number | undefined {
    return this.once('restrict', () => {
      const text = readCryptoSysctls(this.root).get('af_alg_restrict');
      return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
    });
  }

  get privileged(): boolean {
    return this.once('privileged', () => readPrivileged(this.root));
  }

  get registered(): boolean | undefined {
    return this.once('registered', () => {
      const text = readText('/proc/net/protocols', this.root);
      return text === undefined ? undefined : parseHasAlgProtocol(text);
    });
  }

  get seccomp(): number | undefined {
    return this.once('seccomp', () => readStatus(this.root).seccomp);
  }

  get optmemMax(): number | undefined {
    return this.once('optmemMax', () => readNumber('/proc/sys/net/core/optmem_max', this.root));
  }

  get offCpuMasked(): boolean | undefined {
    return this.once('offCpuMasked', () => this.#tryOffCpu(this.algorithms));
  }
}
