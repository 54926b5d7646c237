/** Sectors of 512 bytes against 4096, through an accelerator that is dear per request and in software, in the guest that has one. */
import { runInGuest } from '../rig/index.js';
import type { SectorFindings, SectorRates } from './luks-sectors-guest.js';
import { type Row, ratio, type Section } from './report.js';

const ENGINE = 'virtio_crypto_aes_cbc';
const ROUNDS = 7;

const mb = (rate: number): string => `${(rate / 1e6).toFixed(rate < 1e7 ? 2 : 1)} MB/s`;

/** A CPU without AES instructions and virtio-crypto: the rig's router. */
export async function sectorSizes(): Promise<Section> {
  const program = new URL('./luks-sectors-guest.js', import.meta.url).pathname;
  const { status, stdout, stderr } = await runInGuest({
    output: 'capture',
    timeoutSeconds: 900,
    kind: 'qemu',
    cpu: 'max,-aes,-vaes',
    modules: ['virtio_crypto'],
    command: [process.execPath, program, ENGINE, String(ROUNDS)],
  });
  if (status !== 0) throw new Error(`the guest failed: ${stderr.slice(-2000)}`);
  const { sectors, requests, bound, passedOver } = JSON.parse(
    stdout.trim().split('\n').at(-1) as string,
  ) as SectorFindings;
  const cells = (rates: SectorRates, told: (value: number) => string): string[] => [
    told(rates.software),
    told(rates.dmCrypt),
    told(rates.bySector),
    told(rates.batched),
    told(rates.xtsSoftware),
    told(rates.xtsBatched),
  ];
  const rows = sectors.map((rates): Row => {
    const { sectorBytes, bySector, software, batched } = rates;
    const gain = bySector / software;
    return {
      what: `sectors of ${sectorBytes} bytes`,
      cells: [...cells(rates, mb), ratio(gain)],
      // A short request is not worth the engine's while, and a long one always is.
      met: (sectorBytes > 512 || gain < 1) && batched > Math.max(software, 1.5 * bySector),
    };
  });
  const [small, large] = [sectors[0]!, sectors.at(-1)!];
  const times = Object.fromEntries(
    Object.entries(large).map(([name, value]) => [name, value / small[name as keyof SectorRates]]),
  ) as unknown as SectorRates;
  // The report's effect: what a larger sector is worth to an engine, and not to software.
  rows.push({
    what: '4096 / 512',
    cells: [...cells(times, ratio), ''],
    met: times.bySector >= 3 && times.software < 1.5,
  });
  for (const { bytes, engine, software } of requests) {
    rows.push({
      what: `requests of ${bytes} bytes`,
      cells: [mb(software), '–', mb(engine), '–', '–', '–', ratio(engine / software)],
    });
  }
  // The line through both ends of the engine's.
  const [ns, nsLarge] = [small, large].map((one) => (one.sectorBytes * 1e9) / one.bySector) as [
    number,
    number,
  ];
  const perByte = (nsLarge - ns) / (large.sectorBytes - small.sectorBytes);
  const fixed = Math.max(0, ns - perByte * small.sectorBytes);
  const worth = (fixed * large.software) / 1e9;
  const refused = passedOver.length > 0 ? ` (${passedOver.join('; ')})` : '';
  return {
    title: 'Sectors of 512 and of 4096 bytes: an accelerator behind a CPU without AES instructions (qemu)',
    command: 'npm run bench -- luks-sectors',
    how:
      `Decryption of aes-cbc-plain64 with 128 bits and of aes-xts-plain64 with 256; all ways in turn in one guest, medians of ${ROUNDS} rounds; the results are compared first. ` +
      `“By sector” asks the engine for each sector, as dm-crypt does; “1 MiB” is what \`hwcrypt luks\` does, for XTS over the engine’s CBC, since it has no other mode. ` +
      `dm-crypt itself works with ${bound}${refused}. The last column is the engine by sector beside libcrypto. ` +
      `A request costs the engine here ${(fixed / 1000).toFixed(0)} µs however short it is, since an emulated processor makes its system calls, its interrupt and its ` +
      `changes of context: in that time libcrypto does ${worth.toFixed(0)} bytes. The router of the report, which lost at 512 bytes and gained 3x at 4096, ` +
      'had an engine whose request was worth some 400 bytes; so the same curve is passed through at larger requests here, and those are shown, too.',
    columns: [
      'cbc: libcrypto',
      'dm-crypt',
      'engine, by sector',
      'engine, 1 MiB',
      'xts: libcrypto',
      'engine, 1 MiB',
      'gain by sector',
    ],
    rows,
  };
}
