#!/usr/bin/env node
/**
 * `npm run demo | test | rig | bench`: sets up what is missing on a bare clone, then runs it in this same process.
 *
 * Plain JavaScript without dependencies, since it is what installs and compiles them. Everything it fetches is kept in
 * node_modules/ and .cache/, so a second run asks no network. Set-up talks on stderr, one line for each step that takes
 * time; a step's own output is only shown, shortened, where it fails.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(project, '.cache');

const targets = {
  demo: { file: 'build/rig/demo.js', args: [], guests: true },
  test: { file: 'build/test/run.js', args: [], guests: true },
  rig: { file: 'build/rig/main.js', args: [], guests: true },
  bench: { file: 'build/bench/main.js', args: [], guests: false },
};

/** Debian packages with many libraries: installed. */
const installed = ['qemu-system-x86', 'kmod', 'openssl', 'cryptsetup-bin', 'kcapi-tools', 'strace'];

/**
 * The same, for the tests alone: the libraries of two drivers; who else reads disk images and serves them; shells and a linter for the probe; 350 MB, to open the report's page as
 * people do.
 */
const installedForTests = [
  ...['libgcrypt20', 'libnettle8'],
  ...['qemu-utils', 'nbd-client', 'libnbd-bin', 'e2fsprogs'],
  ...['shellcheck', 'dash', 'chromium'],
];

/** Debian packages of which only files are wanted: unpacked into .cache/, nothing of them is installed. */
const unpacked = [
  { name: 'user-mode-linux', folder: 'rig/user-mode-linux' },
  { name: 'busybox-static', folder: 'rig/busybox-static' },
  // A metapackage: its dependency is the kernel. Not the cloud kernel, which lacks 9p and virtio_crypto.
  { name: 'linux-image-amd64', folder: 'rig/linux-image', follow: true, finish: prepareModules },
  { name: 'python3-cryptography-vectors', folder: 'vectors' },
];

/** The guests mount their modules here; their root is read-only, so the folder must be there before. */
const moduleMountPoint = '/lib/modules';

class SetUpError extends Error {}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`;

const [name, ...rest] = process.argv.slice(2);
const target = Object.hasOwn(targets, name ?? '') ? targets[name] : undefined;
if (target === undefined) {
  console.error(`usage: node scripts/run.mjs ${Object.keys(targets).join(' | ')} [argument…]`);
  process.exit(2);
}

try {
  withLock(() => {
    installModules();
    compile(target.file);
    if (target.guests) prepareGuests();
  });
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(`hwcrypt: ${error.message}`);
  process.exit(1);
}

// In this process rather than in a child: signals then reach it directly, and nobody has to pass them on.
const file = join(project, target.file);
process.argv = [process.argv[0], file, ...target.args, ...rest];
endWithNpm();
await import(pathToFileURL(file).href);

/** npm runs this script, through a shell; were npm killed, this process would go on unseen. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = () => {
    const [name, parent] = processStatus(process.ppid);
    return /^(?:ba|da)?sh$/.test(name) ? `${process.ppid} of ${parent}` : String(process.ppid);
  };
  const first = npm();
  setInterval(() => {
    if (npm() !== first) process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

/** Name and parent, from /proc/PID/stat. */
function processStatus(pid) {
  const [, name = '', parent = ''] =
    /^\d+ \((.*)\) \S (\d+)/s.exec(readText(`/proc/${pid}/stat`) ?? '') ?? [];
  return [name, parent];
}

// ---------------------------------------------------------------------------------------------------------------------
// Node

/** node_modules as package-lock.json has it. */
function installModules() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new SetUpError(`Node 20.19 or later is needed; this is ${process.versions.node}`);
  }
  const lock = join(project, 'package-lock.json');
  const stamp = join(cache, 'node-modules');
  const wanted = createHash('sha256').update(readFileSync(lock)).digest('hex');
  if (existsSync(join(project, 'node_modules')) && readText(stamp) === wanted) return;
  // npm itself writes this file last, so one that is newer than the lock was made from it.
  const hidden = join(project, 'node_modules/.package-lock.json');
  if (!existsSync(hidden) || statSync(hidden).mtimeMs < statSync(lock).mtimeMs) {
    say('installing the node modules (npm ci)');
    run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { explain: 'npm ci failed' });
  }
  writeFileSync(stamp, wanted);
}

function compile(file) {
  const first = !existsSync(join(project, file));
  if (first) say('compiling (tsc -b)');
  const compiler = join(project, 'node_modules/.bin/tsc');
  const done = spawnSync(compiler, ['-b'], { cwd: project, encoding: 'utf8' });
  if (done.error) throw new SetUpError(`cannot run the compiler: ${done.error.message}`);
  // The test run has the compiler's verdict as a part of its own.
  if (name === 'test') process.env.HWCRYPT_TSC = done.status === 0 ? '' : scrub(done.stdout + done.stderr);
  if (done.status === 0 || name === 'test') return;
  // TypeScript writes its output in spite of errors; somebody in the middle of a change can still run the rest.
  if (!existsSync(join(project, file)))
    throw new SetUpError(`tsc -b failed:\n${tail(done.stdout + done.stderr)}`);
  const errors = done.stdout.split('\n').filter((line) => /: error TS/.test(line)).length;
  say(`warning: tsc -b reports ${errors} error${errors === 1 ? '' : 's'}; running what it compiled`);
}

// ---------------------------------------------------------------------------------------------------------------------
// Debian

/** Whatever fails here is told and no more: each layer of the tests, and the rig, says itself what it lacks. */
function prepareGuests() {
  if (process.arch !== 'x64' || !/^ID=debian$/m.test(readText('/etc/os-release') ?? '')) {
    say('the guest kernels need Debian on x86-64; going on without them');
    return;
  }
  const root = process.getuid?.() === 0;
  const install = missingPackages();
  const fetch = unpacked.filter(({ folder }) => !existsSync(join(cache, folder, '.unpacked')));
  const mountPoint = !existsSync(moduleMountPoint);
  if (root && install.length > 0) {
    attempt(() => {
      say(`installing ${install.join(', ')}`);
      withFreshLists(() =>
        run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...install], {
          env: { DEBIAN_FRONTEND: 'noninteractive' },
          explain: 'apt-get install failed',
        }),
      );
    });
  }
  for (const wanted of fetch) attempt(() => unpack(wanted, root));
  if (root && mountPoint) mkdirSync(moduleMountPoint, { recursive: true });
  if (!root && (install.length > 0 || mountPoint)) {
    const commands = [
      ...(install.length > 0 ? [`sudo apt-get install -y --no-install-recommends ${install.join(' ')}`] : []),
      ...(mountPoint ? [`sudo mkdir -p ${moduleMountPoint}`] : []),
    ];
    say(`some tests and guest kernels cannot run yet; what they need comes with\n  ${commands.join(' && ')}`);
  }
}

function attempt(action) {
  try {
    action();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    say(error.message);
  }
}

function missingPackages() {
  const needed = name === 'test' ? [...installed, ...installedForTests] : installed;
  const format = `\${Package} \${db:Status-Status}\\n`;
  const asked = spawnSync('dpkg-query', ['-W', '-f', format, ...needed], { encoding: 'utf8' });
  const there = new Set((asked.stdout ?? '').split('\n').filter((line) => line.endsWith(' installed')));
  return needed.filter((wanted) => !there.has(`${wanted} installed`));
}

function unpack({ name, folder, follow, finish }, root) {
  say(`fetching ${name}`);
  const goal = join(cache, folder);
  mkdirSync(dirname(goal), { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    withFreshLists(() => {
      const real = follow ? dependency(name) : name;
      // As root apt would else drop to a user who may not write here.
      run('apt-get', ['download', '-qq', '-o', 'APT::Sandbox::User=root', real], {
        cwd: work,
        explain: `cannot download ${name}`,
      });
    }, root);
    const archive = readdirSync(work).find((entry) => entry.endsWith('.deb'));
    const files = join(work, 'files');
    run('dpkg', ['-x', join(work, archive), files], { explain: `cannot unpack ${name}` });
    finish?.(files);
    writeFileSync(join(files, '.unpacked'), `${archive}\n`);
    rmSync(goal, { recursive: true, force: true });
    renameSync(files, goal);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function dependency(metapackage) {
  const asked = spawnSync('apt-cache', ['depends', '--important', metapackage], { encoding: 'utf8' });
  const found = /^\s*Depends: (linux-image-\S+)$/m.exec(asked.stdout ?? '');
  if (!found) throw new SetUpError(`apt does not know what ${metapackage} depends on`);
  return found[1];
}

/** dpkg -x runs no scripts, so the modules have no index yet. Sound, screens and the like are half of the 400 MB. */
function prepareModules(files) {
  const modules = join(files, 'lib/modules');
  for (const release of readdirSync(modules)) {
    for (const part of [
      'sound',
      ...['gpu', 'media', 'net', 'infiniband', 'iio', 'staging', 'usb', 'scsi'].map((of) => `drivers/${of}`),
    ]) {
      rmSync(join(modules, release, 'kernel', part), { recursive: true, force: true });
    }
    run('depmod', ['-b', files, release], { explain: `depmod failed for ${release}` });
  }
}

/** apt's lists may be missing or so old that they name files which are gone: fetch them when, and only when, it fails. */
function withFreshLists(action, canUpdate = true) {
  try {
    action();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    if (!canUpdate)
      throw new SetUpError(`${error.message}\n  Perhaps apt's lists are missing: sudo apt-get update`);
    run('apt-get', ['update', '-qq'], { explain: 'apt-get update failed' });
    action();
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/** One set-up at a time in a clone: two would write the same files. */
function withLock(action) {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, 'set-up.lock');
  const deadline = Date.now() + 15 * 60_000;
  for (let told = false; ; ) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = readText(lock);
    // An empty file is one whose owner is about to write its number.
    if (owner === undefined || (owner === '' ? ageMs(lock) < 5000 : isAlive(Number(owner)))) {
      if (Date.now() > deadline) throw new SetUpError('another set-up in this clone does not end');
      if (!told && Date.now() > deadline - 15 * 60_000 + 3000) {
        say('waiting for another set-up in this clone');
        told = true;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    } else {
      rmSync(lock, { force: true });
    }
  }
  try {
    action();
  } finally {
    rmSync(lock, { force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function ageMs(path) {
  return existsSync(path) ? Date.now() - statSync(path).mtimeMs : 0;
}

function run(program, args, { cwd = project, env = {}, explain }) {
  const done = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.status === 0) return;
  if (done.signal === 'SIGINT' || done.signal === 'SIGTERM') process.exit(130);
  throw new SetUpError(
    `${explain}${done.error ? `: ${done.error.message}` : `\n${tail(done.stdout + done.stderr)}`}`,
  );
}

function tail(text) {
  const lines = scrub(text).trimEnd().split('\n').slice(-25);
  return lines.map((line) => `  ${line}`).join('\n');
}

/** Where this machine keeps its files and gets its packages is nobody's business in a log that gets pasted. */
function scrub(text) {
  return text
    .replaceAll(project, '.')
    .replaceAll(homedir() === '/' ? '\0' : homedir(), '~')
    .replace(/\b(?:https?|ftp):\/\/\S+/g, '<address>');
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function say(text) {
  process.stderr.write(`hwcrypt: ${text}\n`);
}
