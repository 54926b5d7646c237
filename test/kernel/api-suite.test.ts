/**
 * What a program may expect of node:crypto's shape, with the kernel doing the work: AEADs come in one piece, parts of a
 * block are joined to whole ones, and hashes are those that the kernel has.
 */
import { test } from 'node:test';
import { getDriver } from '#src/drivers/registry.js';
import { lockStep } from '../helpers/api-lockstep.js';
import { instance } from '../helpers/api-shape.js';
import { apiSuite } from '../helpers/api-suite.js';

const available = getDriver('afalg').probe().available;

test('AF_ALG is there', { skip: !available && 'not in a guest' }, () => {});

if (available) {
  apiSuite('AF_ALG', instance({ drivers: 'afalg' }), {
    driver: 'afalg',
    fewer: true,
    must: [
      'aes-128-ecb',
      'aes-256-cbc',
      'aes-256-ctr',
      'aes-256-xts',
      'aes-128-gcm',
      'aes-128-ccm',
      'sha256',
    ],
  });
  lockStep('AF_ALG', instance({ drivers: 'afalg' }), {
    runs: 80,
    wholeAeads: true,
    pinned: true,
    ciphers: ['aes-128-cbc', 'aes-192-ecb', 'aes-256-ctr', 'aes-128-gcm', 'aes-128-ccm', 'aes-256-xts'],
    hashes: ['sha1', 'sha256', 'sha512'],
  });
}
