/**
 * What is known of systems on a chip, by the names that people write: which engine is in it and whether its CPU has AES instructions. For texts that name the machine and
 * show nothing of it. From the kernel's device trees and the makers' data sheets; what a text itself shows counts more.
 */

export interface Chip {
  readonly name: string;
  /** In a model's name, a compatible or somebody's sentence. */
  readonly words: RegExp;
  /** Identifier in `engines.ts`; absent where there is none that Linux drives. */
  readonly engine?: string;
  readonly aes: boolean;
}

/** The first that matches counts. */
const CHIPS: readonly Chip[] = [
  { name: 'MediaTek MT7621', words: /\bmt7621/i, engine: 'eip93', aes: false },
  { name: 'MediaTek MT7628/MT7688', words: /\bmt76[28]8/i, engine: 'mt7628', aes: false },
  { name: 'MediaTek MT7622', words: /\bmt7622/i, engine: 'safexcel', aes: true },
  { name: 'MediaTek MT7623', words: /\bmt7623|\bbpi-r2\b/i, engine: 'mtk', aes: false },
  { name: 'MediaTek Filogic', words: /\bmt798[1678]|\bfilogic\b/i, engine: 'safexcel', aes: true },
  { name: 'Qualcomm IPQ40xx', words: /\bipq40[0-9x]{2}/i, engine: 'qce', aes: false },
  { name: 'Qualcomm IPQ806x', words: /\bipq806[0-9x]/i, aes: false },
  { name: 'Qualcomm IPQ807x/IPQ60xx', words: /\bipq(?:807|60[0-9x])[0-9x]/i, engine: 'qce', aes: true },
  {
    name: 'Marvell Armada 3700',
    words: /\barmada[ -]?37[0-9x]{2}|\bespressobin\b/i,
    engine: 'safexcel',
    aes: true,
  },
  {
    name: 'Marvell Armada 7K/8K',
    words: /\barmada[ -]?[78](?:k|0[0-9x]{2})|\bmacchiatobin\b/i,
    engine: 'safexcel',
    aes: true,
  },
  {
    name: 'Marvell Armada 370/XP/38x',
    words:
      /\barmada[ -/]?(?:370|xp|38[0-9x])|\bwrt(?:1[29]00acs?|3200acm|32x)\b|\bturris omnia\b|\bclearfog\b|\bhelios4\b/i,
    engine: 'cesa',
    aes: false,
  },
  {
    name: 'Marvell Kirkwood',
    words: /\bkirkwood\b|\b88f6[12]8[0-9]|\bsheevaplug\b/i,
    engine: 'cesa',
    aes: false,
  },
  {
    name: 'Raspberry Pi 5',
    words: /\bbcm2712|\braspberry pi (?:compute module )?5|\b(?:r?pi|raspi) ?5\b/i,
    aes: true,
  },
  {
    name: 'Raspberry Pi 1 to 4',
    words:
      /\bbcm27(?:08|09|11)\b|\bbcm283[567]\b|\braspberry pi (?:compute module )?[1-4]|\b(?:r?pi|raspi) ?[34]b?\b|\braspberry pi zero/i,
    aes: false,
  },
  {
    name: 'TI AM33xx/AM43xx',
    words: /\bam(?:33|43)[0-9x]{2}\b|\bam(?:33|43)xx|\bbeaglebone\b/i,
    engine: 'omap',
    aes: false,
  },
  { name: 'TI AM62L', words: /\bam62l/i, engine: 'dthe', aes: true },
  {
    name: 'TI AM62x/AM64x/AM65x/J721E',
    words: /\bam6[245][0-9a-z]{0,3}\b|\bj7(?:21|200|84)/i,
    engine: 'sa2ul',
    aes: true,
  },
  { name: 'NXP i.MX 6ULL', words: /\bi\.?mx ?6ull/i, engine: 'dcp', aes: false },
  { name: 'NXP i.MX 28', words: /\bi\.?mx ?2[38]\b/i, engine: 'dcp', aes: false },
  { name: 'NXP i.MX 6/7', words: /\bi\.?mx ?(?:6|7)/i, engine: 'caam', aes: false },
  { name: 'NXP i.MX 8', words: /\bi\.?mx ?8/i, engine: 'caam', aes: true },
  {
    name: 'NXP Layerscape',
    words: /\bls(?:10[2-8]|20[48]|21[0-9])[0-9]a?\b|\blayerscape\b/i,
    engine: 'caam',
    aes: true,
  },
  {
    name: 'Freescale MPC8xxx/P10xx/P20xx',
    words: /\bmpc8[35]\d{2}|\bp[12]0[12][0-9]\b/i,
    engine: 'talitos',
    aes: false,
  },
  { name: 'Rockchip RK3288', words: /\brk3288/i, engine: 'rockchip', aes: false },
  {
    name: 'Rockchip RK3328/RK3399',
    words: /\brk33(?:28|99)|\brock64\b|\bnanopi[ -]?r[24]s/i,
    engine: 'rockchip',
    aes: true,
  },
  { name: 'Rockchip RK356x/RK3588', words: /\brk35(?:6[0-9]|88|28|76)/i, engine: 'rockchip', aes: true },
  {
    name: 'Allwinner A10/A13/A20',
    words: /\b(?:sun[47]i|allwinner a(?:10|13|20))\b|\bcubieboard/i,
    engine: 'sun8i',
    aes: false,
  },
  {
    name: 'Allwinner H3/H2+',
    words: /\b(?:sun8i-h[23]|allwinner h[23]\+?)\b|\borange pi (?:one|pc|zero)\b/i,
    engine: 'sun8i',
    aes: false,
  },
  {
    name: 'Allwinner H5/H6/A64',
    words: /\b(?:sun50i|allwinner (?:h5|h6|h616|a64))\b/i,
    engine: 'sun8i',
    aes: true,
  },
  {
    name: 'Amlogic S905/S922',
    words: /\bs9(?:05|12|22)[a-z]?[0-9]?\b|\bodroid[ -]?(?:c[24]|n2)\b/i,
    engine: 'amlogic',
    aes: true,
  },
  {
    name: 'Samsung Exynos 4/5',
    words: /\bexynos ?[45]\d{3}|\bodroid[ -]?(?:xu[34]|hc[12])\b/i,
    engine: 's5p',
    aes: false,
  },
  { name: 'STM32MP1', words: /\bstm32mp1/i, engine: 'stm32', aes: false },
  { name: 'StarFive JH7110', words: /\bjh7110|\bvisionfive 2\b/i, engine: 'starfive', aes: false },
  { name: 'Microchip SAMA5', words: /\bsama5d\d/i, engine: 'atmel', aes: false },
  { name: 'AMD Geode LX', words: /\bgeode lx\b|\balix[ .-]?\d/i, engine: 'geode', aes: false },
  { name: 'Lantiq VR9', words: /\bvr9\b|\bxrx2\d{2}\b|\blantiq\b/i, engine: 'lantiq', aes: false },
  { name: 'Atheros/Qualcomm MIPS', words: /\b(?:ar71xx|ath79|qca9[45]\d{2}|ar9\d{3})\b/i, aes: false },
  { name: 'Broadcom BCM4708/BCM47xx', words: /\bbcm47[0-9x]{2}\b|\bbcm53xx\b/i, aes: false },
];

export function chipIn(text: string): Chip | undefined {
  return CHIPS.find(({ words }) => words.test(text));
}
