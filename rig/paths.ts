/** Where things are. Compiled to build/rig/paths.js, so the project's folder is two levels up. */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Without symbolic links: the guest mounts it by this name. */
export const projectFolder = realpathSync(fileURLToPath(new URL('../../', import.meta.url)));

/** Unpacked kernels and what is made from them (scripts/run.mjs fills it). */
export const rigCache = `${projectFolder}/.cache/rig`;

/** Needs no library: it runs where nothing else is to be seen yet. */
export const busybox = `${rigCache}/busybox-static/bin/busybox`;
