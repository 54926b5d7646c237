/**
 * The page's style sheet: light, dark, phone and paper. Room `report`.
 *
 * Colours are custom properties, which the charts use too. The six of the series are told apart with any of the usual colour blindnesses and have
 * a contrast of 3:1 or more with the page, in each of the schemes; on paper they differ in lightness as well.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff;
  --card: #f4f6f8;
  --ink: #1b1f24;
  --soft: #57606a;
  --rule: #d0d7de;
  --grid: #e4e8ec;
  --link: #0a58a8;
  --mark: #6e40c9;
  --good: #1a7f37;
  --bad: #b35900;
  --s0: #005ea8;
  --s1: #cc4f00;
  --s2: #00805e;
  --s3: #a8447c;
  --s4: #8a6500;
  --s5: #4d5a66;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #12161b;
    --card: #1b2128;
    --ink: #e6eaee;
    --soft: #a3adb8;
    --rule: #38424d;
    --grid: #28313a;
    --link: #7cb8ff;
    --mark: #c4a5ff;
    --good: #5fd38a;
    --bad: #ffb066;
    --s0: #5cb1ff;
    --s1: #ff9350;
    --s2: #3fcf9f;
    --s3: #f294c8;
    --s4: #e3bd4a;
    --s5: #b4c0cc;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto;
  max-width: 58rem;
  padding: 1.5rem 1rem 4rem;
  background: var(--page);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p, ul, ol, dl { margin: .5rem 0; }
ul, ol { padding-left: 1.4rem; }
li { margin: .25rem 0; }
a { color: var(--link); }
a:focus-visible, .scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
bdi { unicode-bidi: isolate; }
code { font: .875em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; padding: .5rem .75rem; background: var(--card); border-radius: .4rem; }
small, .soft { color: var(--soft); font-size: .875rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--page); padding: .25rem .5rem; z-index: 1; }
.short { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; margin: 1rem 0; }
.short h2 { border: 0; margin: 0; padding: 0; font-size: 1.1rem; }
.verdict { font-size: 1.05rem; margin: .5rem 0 1rem; }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .9rem; }
figure { margin: 1rem 0; }
figcaption { font-weight: 600; margin-bottom: .25rem; }
figcaption small { font-weight: 400; display: block; }
.legend { list-style: none; padding: 0; margin: .25rem 0 .5rem; display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; font-size: .9rem; }
.legend li { margin: 0; }
.swatch { width: 34px; height: 12px; margin-right: .4rem; vertical-align: -.05em; flex: none; }
.chart { display: block; width: 100%; height: auto; overflow: visible; fill: currentColor; text-anchor: middle; font-size: 12px; font-variant-numeric: tabular-nums; }
.chart text { white-space: pre; }
.chart.wide { max-width: 55rem; }
.chart.narrow { display: none; }
@media screen and (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; }
  h1 { font-size: 1.4rem; }
  .chart.wide { display: none; }
  .chart.narrow { display: block; }
  th .swatch { display: block; margin: 0 0 .1rem auto; }
  th.name .swatch { margin-left: 0; }
}
.scroll { overflow-x: auto; margin: .75rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.35; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
summary { cursor: pointer; font-weight: 600; font-size: .875rem; margin-top: 1rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .35rem; }
th, td { padding: .3rem .7rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--rule); }
th.name, td.name, th.text, td.text { text-align: left; }
th.name, td.text { white-space: normal; overflow-wrap: anywhere; min-width: 9.5rem; max-width: 26rem; }
th[scope=row] { font-weight: 500; }
th small, td small { display: block; font-weight: 400; font-size: .8rem; }
.win { font-weight: 650; color: var(--good); }
.lose { color: var(--bad); }
.none { color: var(--soft); }
sup { line-height: 0; font-size: .75em; }
sup a { text-decoration: none; padding: 0 .1em; }
.notes { font-size: .875rem; color: var(--soft); border-top: 1px dashed var(--rule); margin-top: .75rem; padding-top: .25rem; }
.notes li:target { background: var(--card); color: var(--ink); }
dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; font-size: .925rem; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; }
@media screen and (max-width: 30rem) {
  dl.facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dl.facts dd { margin-bottom: .4rem; }
}
footer { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: .5rem; }
@page { margin: 16mm 14mm; }
@media print {
  :root { color-scheme: light; --card: #ffffff; --grid: #dddddd; --s0: #003f73; --s1: #d9671a; --s2: #3b8f73; --s3: #7a2458; --s4: #b08a20; --s5: #39424b; }
  html { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  nav, .skip, .screen { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary { list-style: none; }
  .short { border: 1px solid var(--rule); }
  h1, h2, h3, figcaption, caption, summary, .verdict, .legend { break-after: avoid; }
  figure, .legend, .short, .few, tr, .notes li { break-inside: avoid; }
  h2 { margin-top: 1.5rem; }
  p, li { orphans: 3; widows: 3; }
  .chart.wide { max-width: 17cm; margin: 0; }
  .scroll { overflow: visible; }
  table { font-size: .8rem; }
  th, td { padding: .15rem .4rem; }
  th, td.text { white-space: normal; }
  td.text, th.name { overflow-wrap: anywhere; min-width: 4rem; }
  .many table { font-size: .62rem; }
  th small, td small { font-size: .9em; }
  .many th, .many td { padding: .1rem .2rem; }
  thead { display: table-header-group; }
  a { color: inherit; text-decoration: none; }
  .swatch, .chart { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
