#!/usr/bin/env node
// demo | test | rig | bench: sets up what is missing, then runs it.
import { spawnSync } from 'node:child_process';

const targets = { rig: 'build/rig/main.js', test: 'build/test/run.js' };
const [what, ...rest] = process.argv.slice(2);
spawnSync('npx', ['tsc', '-b'], { stdio: 'ignore' });
const run = spawnSync(process.execPath, [targets[what], ...rest], { stdio: 'inherit' });
process.exitCode = run.status ?? 1;
