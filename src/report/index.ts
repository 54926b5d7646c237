/**
 * Room `report`: facts turned into what people read — tables, checksum lines, explanations, progress.
 *
 * May import: the rooms below. It formats and gathers; it decides nothing and writes nowhere but to the terminal's bar.
 */
export {
  type ChecksumFormat,
  type ChecksumLine,
  type ChecksumStyle,
  checksumLine,
  type ParsedChecksum,
  parseChecksum,
} from './checksums.js';
export {
  type AlgorithmEntry,
  algorithmInventory,
  type DriverEntry,
  driverInventory,
  type Inventory,
  type KernelEntry,
  type KernelInventory,
  kernelInventory,
  type SupportEntry,
} from './inventory.js';
export { type Column, table } from './table.js';
