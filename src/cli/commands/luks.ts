/** `hwcrypt luks`: commands for encrypted disk images. */
import type { CommandGroup } from '../commands.js';

export const group: CommandGroup = {
  name: 'luks',
  summary: 'Encrypted disk images (LUKS1, LUKS2), in user space: no root, no device-mapper, no mount.',
  commands: {
    inspect: {
      summary: 'what a header says, and what is to be said about it on this machine',
      load: () => import('./luks/inspect.js'),
    },
    plan: {
      summary: 'which cipher, key and sector a disk should have, how fast it is, and the commands',
      load: () => import('./luks/plan.js'),
    },
    open: {
      summary: 'decrypt a whole image into a file or a pipe',
      load: () => import('./luks/open.js'),
    },
    cat: {
      summary: 'decrypt a part of an image to standard output',
      load: () => import('./luks/cat.js'),
    },
    format: {
      summary: 'make a LUKS2 image',
      load: () => import('./luks/format.js'),
    },
    write: {
      summary: 'encrypt a file or a pipe into an image',
      load: () => import('./luks/write.js'),
    },
    serve: {
      summary: 'serve the plaintext over NBD, to be mounted or copied',
      load: () => import('./luks/serve.js'),
    },
    'add-key': {
      summary: 'add a passphrase',
      load: () => import('./luks/add-key.js'),
    },
    'change-key': {
      summary: 'change a passphrase or its key derivation',
      load: () => import('./luks/change-key.js'),
    },
    'remove-key': {
      summary: 'remove a passphrase or a keyslot',
      load: () => import('./luks/remove-key.js'),
    },
  },
};
