/** The walls of the house: imports go downwards only, koffi stays in its room, every room says what it is for. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SRC = join(ROOT, 'src');

/** From top to bottom. A room may import rooms of a later line, never of its own line (other than itself) or an earlier one. */
const FLOORS: readonly (readonly string[])[] = [
  ['cli', 'index.ts'],
  ['report'],
  ['planning'],
  ['doctor'],
  ['luks', 'enc'],
  ['interop'],
  ['api'],
  ['routing'],
  ['bench'],
  ['drivers', 'kdf'],
  ['linux', 'files'],
  ['algorithms', 'schema.ts'],
  ['errors.ts'],
];

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

function roomOf(path: string): string {
  // The table is a file with a folder of its own: one room.
  return relative(SRC, path)
    .split('/')[0]!
    .replace(/^algorithms\.ts$/, 'algorithms');
}

function floorOf(room: string): number {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(room));
  assert.notEqual(
    floor,
    -1,
    `src/${room} is on no floor: say where it belongs in this test and in docs/architecture.md`,
  );
  return floor;
}

interface Import {
  readonly from: string;
  readonly specifier: string;
}

function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8');
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|\brequire\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...text.matchAll(pattern)].map((match) => ({
    from: path,
    specifier: (match[1] ?? match[2] ?? match[3] ?? match[4])!,
  }));
}

const files = sources(SRC);
const imports = files.flatMap(importsOf);

test('there is something to look at', () => {
  assert.ok(files.length > 20, `${files.length} files`);
  assert.ok(imports.length > 50, `${imports.length} imports`);
});

test('imports go downwards only', () => {
  const wrong: string[] = [];
  for (const { from, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    const target = resolve(dirname(from), specifier).replace(/\.js$/, '.ts');
    assert.ok(existsSync(target), `${relative(ROOT, from)} imports ${specifier}, which is not there`);
    const [above, below] = [roomOf(from), roomOf(target)];
    if (above === below) continue;
    if (floorOf(above) >= floorOf(below)) wrong.push(`${relative(ROOT, from)} imports ${specifier}`);
  }
  assert.deepEqual(wrong, []);
});

test('drivers do not know each other', () => {
  const wrong: string[] = [];
  for (const { from, specifier } of imports) {
    const [room, driver, file] = relative(SRC, from).split('/');
    if (room !== 'drivers' || file === undefined || !specifier.startsWith('.')) continue;
    const [otherRoom, otherDriver, otherFile] = relative(SRC, resolve(dirname(from), specifier)).split('/');
    if (otherRoom === 'drivers' && otherFile !== undefined && otherDriver !== driver) {
      wrong.push(`${relative(ROOT, from)} imports ${specifier}`);
    }
    if (otherRoom === 'drivers' && otherDriver === 'registry.js')
      wrong.push(`${relative(ROOT, from)} imports the registry`);
  }
  assert.deepEqual(wrong, []);
});

test('in the router’s room only who calibrates loads what measures', () => {
  const loading = imports.filter(
    ({ from, specifier }) =>
      roomOf(from) === 'routing' && roomOf(resolve(dirname(from), specifier)) === 'bench',
  );
  assert.deepEqual(
    [...new Set(loading.map(({ from }) => relative(SRC, from)))].filter(
      (path) => !/^routing\/calibrate[\w-]*\.ts$/.test(path),
    ),
    [],
  );
});

test('packages are imported only where they belong', () => {
  const homes: Record<string, RegExp> = {
    koffi: /^linux\/ffi\.ts$/,
    // In a thread of its own: it holds its thread up for seconds.
    'hash-wasm': /^kdf\/argon2-worker\.ts$/,
    // Only the report's page is drawn, and only its room pays for what that takes.
    '@observablehq/plot': /^report\/html\/canvas\.ts$/,
    '@xmldom/xmldom': /^report\/html\/canvas\.ts$/,
    'cli-progress': /^(report|cli)\//,
    'simple-ascii-chart': /^report\/plot\.ts$/,
  };
  const declared = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const used = new Set<string>();
  for (const { from, specifier } of imports) {
    if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
    const home = homes[specifier];
    assert.ok(
      home,
      `${relative(ROOT, from)} imports ${specifier}: name its home here and its reason in CONTRIBUTING.md`,
    );
    assert.match(relative(SRC, from), home, `${specifier} is imported outside its room`);
    used.add(specifier);
  }
  assert.deepEqual(
    [...used].sort(),
    Object.keys(declared.dependencies).sort(),
    'declared and used dependencies differ',
  );
  const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  for (const name of used)
    assert.ok(contributing.includes(`\`${name}\``), `CONTRIBUTING.md gives no reason for ${name}`);
});

test('every room says at its door what it is for', () => {
  for (const entry of readdirSync(SRC, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === 'algorithms') continue;
    if (sources(join(SRC, entry.name)).length === 0) continue;
    const names = readdirSync(join(SRC, entry.name));
    const first = ['index.ts', 'main.ts', 'router.ts'].find((name) => names.includes(name));
    assert.ok(first, `src/${entry.name} has no first file`);
    const text = readFileSync(join(SRC, entry.name, first), 'utf8');
    assert.match(
      text,
      new RegExp(`Room \`${entry.name}\``),
      `src/${entry.name}/${first} does not introduce its room`,
    );
    assert.match(text, /may import/i, `src/${entry.name}/${first} does not say what its room may import`);
  }
});

test('docs/architecture.md knows every room and no others', () => {
  const text = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');
  for (const entry of readdirSync(SRC, { withFileTypes: true })) {
    assert.ok(text.includes(`src/${entry.name}`), `docs/architecture.md does not mention src/${entry.name}`);
  }
  for (const [, path] of text.matchAll(/`((?:src|rig|test|bench|scripts|docs)\/[\w./-]+)`/g)) {
    assert.ok(existsSync(join(ROOT, path!)), `docs/architecture.md names ${path}, which is not there`);
  }
});
