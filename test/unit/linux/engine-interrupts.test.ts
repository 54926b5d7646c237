/** Whose lines of /proc/interrupts are an engine's. The texts are those of machines that have one, shortened. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { engineLines, readEngineInterrupts } from '#src/linux/engine-interrupts.js';
import { parseInterrupts } from '#src/linux/proc.js';

const NONE = new Set<string>();

/** Machine, text, how often its engine interrupted. */
const MACHINES: readonly (readonly [string, string, number | undefined])[] = [
  [
    'MT7621 with EIP93 (OpenWrt)',
    `           CPU0       CPU1       CPU2       CPU3
  8:      11223      11034      10921      11201  MIPS GIC Local   1  timer
 20:     523401          0          0          0  MIPS GIC  10  1e100000.ethernet
 23:     104211         12          0          0  MIPS GIC  19  1e004000.crypto
 24:         12          0          0          0  MIPS GIC  33  ttyS0
 29:       1033          0          0          0  MIPS GIC  29  xhci-hcd:usb1
ERR:          0
`,
    104_223,
  ],
  [
    'MT7628 with the vendor driver for EIP93',
    `           CPU0
  5:    4455667      MIPS   5  10100000.ethernet
 16:      91823      INTC  13  mtk-eip93
 20:        140      INTC  20  ttyS0
`,
    91_823,
  ],
  [
    'Armada 388 with CESA, two channels',
    `           CPU0       CPU1
 25:     211934     219843     GIC-0  27 Edge      gp_timer
 44:       1042          0     GIC-0  51 Level     f1090000.crypto
 45:       1100          3     GIC-0  52 Level     f1090000.crypto
IPI0:          0          1  CPU wakeup interrupts
`,
    2145,
  ],
  [
    'Kirkwood with the old mv_cesa',
    ` 22:   1234567      orion_irq  22  mv_crypto
 33:        90      orion_irq  33  serial
`,
    1_234_567,
  ],
  [
    'i.MX6 with CAAM, two job rings',
    `           CPU0       CPU1       CPU2       CPU3
 57:          0          0          0          0       GIC-0 125 Level     pcie-dma
306:       5023          0          0          0       GIC-0 137 Level     2101000.jr
307:         17          0          0          0       GIC-0 138 Level     2102000.jr
`,
    5040,
  ],
  [
    'Xeon with QAT',
    `            CPU0       CPU1
 120:       1000        200  IR-PCI-MSI 1572864-edge      qat0-bundle0
 121:         10          0  IR-PCI-MSI 1572865-edge      qat0-bundle1
 136:          1          0  IR-PCI-MSI 1572880-edge      qat0-ae-cluster
 140:      99999      99999  IR-PCI-MSI 524288-edge      nvme0q1
 NMI:          5          5   Non-maskable interrupts
`,
    1211,
  ],
  [
    'STM32MP1: cryp and hash',
    ` 60:        444          0     GIC-0 111 Level     54001000.cryp
 61:          6          0     GIC-0 112 Level     54002000.hash
 62:       9999          0     GIC-0 113 Level     54003000.rng
`,
    450,
  ],
  [
    'Allwinner H3, Rockchip, i.MX28, an AMD PC: by their names',
    ` 33:          7     GICv2 126 Level     1c15000.crypto
 34:          5     GICv3  80 Level     ff8a0000.crypto
 35:          3         -  53 Edge      dcp-irq
 36:          2     PCI-MSIX-0000:04:00.2   1-edge      ccp-1
`,
    17,
  ],
  [
    'a PC with none',
    `            CPU0       CPU1
   0:         40          0   IO-APIC   2-edge      timer
  24:          0          0  PCI-MSI 65536-edge      PCIe PME, pciehp
  27:       4321          9  PCI-MSIX-0000:00:1f.3   0-edge      xhci_hcd
  30:          1          0  PCI-MSIX-0000:00:02.0   1-edge      virtio0-virtqueues
 LOC:     123456     123456   Local timer interrupts
`,
    undefined,
  ],
];

for (const [machine, text, wanted] of MACHINES) {
  test(machine, () => {
    const lines = engineLines(parseInterrupts(text), NONE);
    const total = lines.reduce((sum, { total: own }) => sum + own, 0);
    assert.equal(lines.length === 0 ? undefined : total, wanted);
  });
}

test('virtio: only the device that virtio_crypto drives, and not its configuration', () => {
  const root = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'proc'), { recursive: true });
  writeFileSync(
    join(root, 'proc/interrupts'),
    `           CPU0
 24:          0  PCI-MSIX-0000:00:02.0   0-edge      virtio0-config
 25:      70001  PCI-MSIX-0000:00:02.0   1-edge      virtio0-virtqueues
 26:          3  PCI-MSIX-0000:00:03.0   0-edge      virtio1-config
 27:       1500  PCI-MSIX-0000:00:03.0   1-edge      virtio1-virtqueues
 28:        500  PCI-MSIX-0000:00:04.0   1-edge      virtio10-dataq.0-crypto
`,
  );
  // No driver: the last line has the word in its name, but belongs to a device that nothing connects with an engine.
  assert.equal(readEngineInterrupts(root), undefined);
  mkdirSync(join(root, 'sys/bus/virtio/drivers/virtio_crypto/virtio1'), { recursive: true });
  mkdirSync(join(root, 'sys/bus/virtio/drivers/virtio_crypto/module'), { recursive: true });
  assert.equal(readEngineInterrupts(root), 1500);
  mkdirSync(join(root, 'sys/bus/virtio/drivers/virtio_crypto/virtio10'), { recursive: true });
  assert.equal(readEngineInterrupts(root), 2000);
});

test('no /proc/interrupts', () => {
  assert.equal(readEngineInterrupts('/nonexistent'), undefined);
});
