/** `hwcrypt luks inspect`: what a header says, and what is to be said about it here. */
import { Device } from '../../../luks/device.js';
import { readHeader } from '../../../luks/header/read.js';
import { inspect, ratesOf } from '../../../luks/inspect.js';
import { inspectionJsonText, inspectionText } from '../../../report/luks.js';
import { openProfile } from '../../../routing/profile.js';
import type { CommandSpec, Given } from '../../options.js';
import { writeText } from '../../stdio.js';
import { HEADER_OPTION, imageOf } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks inspect',
  summary:
    'Prints what the header of an image says, as `cryptsetup luksDump` does, and judges it for this machine.',
  usage: 'IMAGE',
  operands: 1,
  options: [HEADER_OPTION, { names: ['--json'], help: 'Print JSON' }],
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const detached = given.get('header');
  const devices = [Device.open(image), ...(detached === undefined ? [] : [Device.open(detached)])];
  try {
    const header = readHeader(devices.at(-1) as Device);
    const inspection = await inspect(header, devices[0] as Device, { rateOf: ratesOf(openProfile()) });
    writeText(given.has('json') ? inspectionJsonText(inspection) : inspectionText(inspection));
  } finally {
    for (const device of devices) device.close();
  }
}
