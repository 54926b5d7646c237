/**
 * Shared libraries of the system that may or may not be installed: the first soname that can be loaded and has the functions that
 * are needed, or why there is none and which package to install.
 */
import type { Reason } from '../errors.js';
import { type NativeLibrary, type OpenedLibrary, openLibrary } from './ffi.js';

/** What is looked for. */
export interface SharedLibrary {
  /** As people call it: `libgcrypt`. */
  readonly title: string;
  /**
   * In the order in which they are tried. Always with the number of the ABI: the bare `.so` is a developer's link to any ABI.
   * glibc and musl find the same names; what differs is the folder, which is theirs to know.
   */
  readonly sonames: readonly string[];
  /** Functions without which it is of no use. */
  readonly symbols: readonly string[];
  /** The first version that has them all, for people: `1.8`. */
  readonly since: string;
  /** The package that it comes in. */
  readonly packages: Readonly<Record<'Debian' | 'Alpine' | 'OpenWrt', string>>;
}

/** `libgcrypt20 (Debian), libgcrypt (Alpine, OpenWrt)` */
function packagesOf({ packages }: SharedLibrary): string {
  const systems = new Map<string, string[]>();
  for (const [system, name] of Object.entries(packages)) {
    systems.set(name, [...(systems.get(name) ?? []), system]);
  }
  return [...systems].map(([name, where]) => `${name} (${where.join(', ')})`).join(', ');
}

/**
 * Is it this very file that the loader did not find? glibc, of which `openLibrary` leaves out the name at the start, says
 * `cannot open shared object file: No such file or directory`, with another name before it where that is a library which this one
 * needs. musl says `Error loading shared library NAME: No such file or directory`, with `(needed by …)` behind it in that case.
 */
function notFound(soname: string, told: string): boolean {
  const absent = ': No such file or directory';
  return (
    told === `cannot open shared object file${absent}` ||
    told === `Error loading shared library ${soname}${absent}`
  );
}

/**
 * Never throws. The reasons: `LIBRARY_ABSENT` (not installed, or not loadable, with what the loader says), `SYMBOLS_ABSENT` (too old or
 * built without), `FFI_UNAVAILABLE`.
 *
 * @param open there for tests
 */
export function openSharedLibrary(
  wanted: SharedLibrary,
  open: (soname: string) => OpenedLibrary = openLibrary,
): OpenedLibrary {
  let worst: Reason | undefined;
  for (const soname of wanted.sonames) {
    const opened = open(soname);
    if (!opened.library) {
      if (opened.reason.code === 'FFI_UNAVAILABLE') return opened;
      if (notFound(soname, opened.reason.message)) continue;
      worst ??= {
        code: 'LIBRARY_ABSENT',
        message: `${wanted.title} is there, but cannot be loaded: ${opened.reason.message}`,
        cure: `install it anew, with what it needs, for a ${process.arch} Node: ${packagesOf(wanted)}`,
      };
      continue;
    }
    const missing = lacks(opened.library, wanted);
    if (missing === undefined) return opened;
    worst ??= {
      code: 'SYMBOLS_ABSENT',
      message: `${soname} has no function ${missing}, which ${wanted.title} ${wanted.since} and later have`,
      cure: `install ${wanted.title} ${wanted.since} or later: ${packagesOf(wanted)}`,
    };
  }
  return {
    reason: worst ?? {
      code: 'LIBRARY_ABSENT',
      message: `${wanted.title} is not installed (looked for ${wanted.sonames.join(', ')})`,
      cure: `install ${packagesOf(wanted)}`,
    },
  };
}

function lacks(library: NativeLibrary, { symbols }: SharedLibrary): string | undefined {
  return symbols.find((symbol) => !library.has(symbol));
}
