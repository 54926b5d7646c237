/**
 * Facts about this kernel that tell why it refused an algorithm, gathered when something has failed and not before. Shared by the
 * drivers that work through the kernel.
 */
import {
  type AlgorithmList,
  type KernelVersion,
  listAlgorithms,
  type ModuleIndex,
  type ModuleRule,
  readKernelVersion,
  readModuleIndex,
  readModuleRules,
  readModules,
} from '../linux/index.js';

export interface KernelFacts {
  readonly kernel: KernelVersion | undefined;
  readonly algorithms: AlgorithmList;
  /** Names of loaded modules; undefined where /proc/modules cannot be read. */
  readonly loaded: ReadonlySet<string> | undefined;
  readonly rules: readonly ModuleRule[];
  readonly index: ModuleIndex;
}

/**
 * The facts of this machine; each is read at its first use. `stable` keeps what is large and seldom changes (the index of modules,
 * the rules of modprobe.d) from one to the next.
 */
export class LiveKernelFacts implements KernelFacts {
  protected readonly root: string;
  readonly #kept = new Map<string, unknown>();
  readonly #stable: Map<string, unknown>;

  constructor(stable: Map<string, unknown> = new Map(), root = '/') {
    this.#stable = stable;
    this.root = root;
  }

  protected once<T>(name: string, read: () => T, kept = this.#kept): T {
    if (!kept.has(name)) kept.set(name, read());
    return kept.get(name) as T;
  }

  get kernel(): KernelVersion | undefined {
    return this.once('kernel', () => readKernelVersion(this.root));
  }

  get algorithms(): AlgorithmList {
    return this.once('algorithms', listAlgorithms);
  }

  get loaded(): ReadonlySet<string> | undefined {
    return this.once('loaded', () => {
      const modules = readModules(this.root);
      return modules && new Set(modules.map((module) => module.name));
    });
  }

  get rules(): readonly ModuleRule[] {
    return this.once('rules', () => readModuleRules(this.root), this.#stable);
  }

  get index(): ModuleIndex {
    const release = this.kernel?.release ?? '';
    return this.once('index', () => readModuleIndex(release, this.root), this.#stable);
  }
}
