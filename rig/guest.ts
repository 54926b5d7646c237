/**
 * One run of one guest, from its start to its certain end.
 *
 * The guest's process is not started by this process but by a small shell, the keeper, whose stdin is a pipe that only
 * this process holds open: the lifeline. When it closes, however that came about, the guest is killed. So there is one
 * way for every end, and no guest outlives its runner, not even one that was ended by SIGKILL.
 * (PR_SET_PDEATHSIG would not do: user-mode Linux is many processes, and those it traces would go on by themselves.)
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type Boot, type GuestSystem, jobScript, type Launch } from './job.js';
import { projectFolder } from './paths.js';
import { qemu } from './qemu.js';
import {
  type GuestKind,
  type GuestOptions,
  type GuestOutcome,
  type GuestResult,
  RigUnavailableError,
} from './types.js';
import { uml } from './uml.js';

const systems: Record<GuestKind, GuestSystem> = { uml, qemu };

/** Exit statuses that are not the command's own. */
export const status = { timeout: 124, failed: 125, aborted: 130 } as const;

const defaultTimeoutSeconds = 600;
const consoleTailBytes = 16 * 1024;
const farewellMs = 10_000;

/**
 * Arguments: the run's folder, then the guest's program and its arguments. fd 0: the lifeline; fds 3, 4, 5: the channels.
 * User-mode Linux leads a process group of its own soon after its start; its pid stays ours, since it is waited for here.
 * Each half removes the folder, since either may be the one that is left.
 */
const keeper = `
folder=$1
shift
ulimit -c 0
exec 6<&0 </dev/null
"$@" 6<&- &
guest=$!
(
  exec >/dev/null 2>&1 3>&- 4>&- 5>&-
  read -r _ <&6
  kill -9 -$guest
  kill -9 $guest
  kill -9 -$guest
  rm -rf -- "$folder"
) &
exec >/dev/null 2>&1 3>&- 4>&- 5>&- 6<&-
wait $guest
status=$?
kill -9 $!
rm -rf -- "$folder"
exit $status
`;

/** Why this kind of guest cannot run here; undefined where it can. */
export function unavailable(kind: GuestKind): string | undefined {
  try {
    systems[kind].check();
    return undefined;
  } catch (error) {
    if (error instanceof RigUnavailableError) return error.message;
    throw error;
  }
}

/** Runs a command in a guest. Rejects where the guest cannot be started at all; see `GuestResult` for the rest. */
export async function runInGuest(options: GuestOptions): Promise<GuestResult> {
  const started = performance.now();
  if (options.command.length === 0) throw new RangeError('there is no command to run in the guest');
  const system = systems[options.kind];
  system.check();
  const resultsFolder = makeResultsFolder(options);
  const runFolder = mkdtempSync(`${realpathSync(tmpdir())}/hwcrypt-rig-`);
  try {
    const boot: Boot = {
      options,
      runFolder,
      resultsFolder,
      memoryMiB: options.memoryMiB ?? system.memoryMiB,
    };
    writeFileSync(`${runFolder}/init`, jobScript(boot, system.modulesFolder()), { mode: 0o755 });
    const run = await keep(
      system.launch(boot),
      boot,
      options.bootTimeoutSeconds ?? system.bootTimeoutSeconds,
    );
    return { ...run, resultsFolder, elapsedMs: performance.now() - started };
  } finally {
    rmSync(runFolder, { recursive: true, force: true });
  }
}

function makeResultsFolder(options: GuestOptions): string {
  const wanted = options.resultsFolder ?? `${projectFolder}/results/${options.kind}`;
  mkdirSync(wanted, { recursive: true });
  const folder = realpathSync(wanted);
  if (`${projectFolder}/`.startsWith(folder === '/' ? folder : `${folder}/`)) {
    throw new RangeError(`the guest may not write to ${folder}: the project itself is in there`);
  }
  return folder;
}

type Run = Omit<GuestResult, 'resultsFolder' | 'elapsedMs'>;

function keep(launch: Launch, { options, runFolder }: Boot, bootTimeoutSeconds: number): Promise<Run> {
  const timeoutSeconds = options.timeoutSeconds ?? defaultTimeoutSeconds;
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn('/bin/sh', ['-c', keeper, 'keeper', runFolder, launch.program, ...launch.args], {
      detached: true,
      env: hostEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    const [lifeline, console1, console2, control, stdout, stderr] = child.stdio as unknown as [
      Writable,
      Readable,
      Readable,
      Readable,
      Readable,
      Readable,
    ];

    let ended: { outcome: GuestOutcome; status: number; message: string } | undefined;
    let commandStatus: number | undefined;
    let failure: string | undefined;
    let bootMs: number | undefined;
    let consoleTail = '';

    const kill = () => lifeline.destroy();
    const end = (outcome: GuestOutcome, code: number, message: string) => {
      ended ??= { outcome, status: code, message };
      kill();
    };

    const timer = setTimeout(
      () => end('timeout', status.timeout, `the guest was ended after ${timeoutSeconds} s`),
      timeoutSeconds * 1000,
    );
    const bootTimer = setTimeout(
      () =>
        end('failed', status.failed, `the guest did not reach the command within ${bootTimeoutSeconds} s`),
      bootTimeoutSeconds * 1000,
    );
    let farewellTimer: NodeJS.Timeout | undefined;
    const onAbort = () => end('aborted', status.aborted, 'the guest was ended on request');
    const cleanUp = () => {
      clearTimeout(timer);
      clearTimeout(bootTimer);
      clearTimeout(farewellTimer);
      options.signal?.removeEventListener('abort', onAbort);
      kill();
    };

    const onConsole = (text: string) => {
      consoleTail = (consoleTail + text).slice(-consoleTailBytes);
      options.onConsole?.(text);
    };
    console1.setEncoding('utf8').on('data', onConsole);
    console2.setEncoding('utf8').on('data', onConsole);

    const said: Record<string, (rest: string) => void> = {
      ready() {
        clearTimeout(bootTimer);
        // A reboot of user-mode Linux starts the same kernel, and with it the command, over again.
        if (bootMs !== undefined) end('failed', status.failed, 'the guest rebooted under the command');
        bootMs = performance.now() - started;
      },
      status(rest) {
        commandStatus = Number(rest);
        farewell();
      },
      failed(rest) {
        failure = rest;
        farewell();
      },
    };
    // The guest powers off by itself now; the timer is for the case that it does not.
    const farewell = () => {
      clearTimeout(bootTimer);
      clearTimeout(timer);
      farewellTimer = setTimeout(kill, farewellMs);
    };
    const onLine = lines((line) => {
      const [word, rest] = splitOnce(line);
      said[word]?.(rest);
    });
    control.setEncoding('utf8').on('data', onLine);

    const collected = { stdout: '', stderr: '' };
    if (options.output === 'capture') {
      stdout.setEncoding('utf8').on('data', (text: string) => {
        collected.stdout += text;
      });
      stderr.setEncoding('utf8').on('data', (text: string) => {
        collected.stderr += text;
      });
    } else {
      stdout.pipe(process.stdout, { end: false });
      stderr.pipe(process.stderr, { end: false });
    }

    // Resets come with the death of a guest and are told by its end.
    for (const stream of [lifeline, control, stdout, stderr]) stream.on('error', () => {});

    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener('abort', onAbort, { once: true });

    child.on('error', (error) => {
      cleanUp();
      reject(error);
    });
    // Should somebody have killed the keeper alone, its other half still ends the guest.
    child.on('exit', kill);
    // 'close' comes after the end of every channel, so nothing that the command wrote is lost.
    child.on('close', () => {
      cleanUp();
      const common = { ...collected, console: consoleTail, ...(bootMs === undefined ? {} : { bootMs }) };
      if (ended !== undefined) {
        resolve({ ...ended, ...common });
      } else if (commandStatus !== undefined) {
        resolve({ outcome: 'exited', status: commandStatus, ...common });
      } else {
        const message =
          failure ?? `the guest died ${bootMs === undefined ? 'while booting' : 'under the command'}`;
        resolve({ outcome: 'failed', status: status.failed, message, ...common });
      }
    });
  });
}

/** Nothing of the host's environment is the guest kernel's business but where to find programs and put its memory. */
function hostEnvironment(): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  return { ...(PATH === undefined ? {} : { PATH }), ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

function lines(each: (line: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) each(part);
  };
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(' ');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}
