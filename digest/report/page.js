// The page works without this: it adds sorting and filtering.
(() => {
  const table = document.getElementById('classes');
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const details = document.getElementById('details');
  const sections = new Map(rows.map(row => {
    const link = row.querySelector('a');
    return [row, link && document.getElementById(link.getAttribute('href').slice(1))];
  }));
  const units = {
    'ns': 1e-9, 'µs': 1e-6, 'ms': 1e-3, 's': 1, 'h': 3600, 'd': 86400, 'y': 31557600,
    '': 1, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, '%': 1,
  };
  const value = (row, column) => {
    const cell = row.cells[column];
    if (column === 1) return parseFloat(cell.style.getPropertyValue('--w'));
    const text = cell.textContent.trim();
    if (column === 2) return text.toLowerCase();
    const number = /^([\d.]+(?:e\+?\d+)?)(\D*)$/.exec(text);
    return number ? number[1] * units[number[2]] : -1;
  };

  // Sorting: a button in each heading. Numbers start with the largest.
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement('button');
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener('click', () => {
      const first = column === 0 || column === 2 ? 'ascending' : 'descending';
      const other = first === 'ascending' ? 'descending' : 'ascending';
      const order = heading.getAttribute('aria-sort') === first ? other : first;
      headings.forEach(h => h.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', order);
      const sign = order === 'ascending' ? 1 : -1;
      const keyed = rows.map(row => [row, value(row, column)]);
      keyed.sort(([, a], [, b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
      body.append(...keyed.map(([row]) => row));
      details.append(...keyed.map(([row]) => sections.get(row)).filter(Boolean));
    });
  });

  // Filtering: every word must be somewhere in the row or in the class's section.
  const filter = document.getElementById('filter');
  const matches = document.getElementById('matches');
  const texts = new Map();
  const text = row => {
    if (!texts.has(row)) {
      const section = sections.get(row);
      texts.set(row, (row.textContent + ' ' + (section ? section.textContent : '')).toLowerCase());
    }
    return texts.get(row);
  };
  filter.closest('p').hidden = false;
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const hit = words.every(word => text(row).includes(word));
      row.hidden = !hit;
      const section = sections.get(row);
      if (section) section.hidden = !hit;
      if (hit) shown++;
    }
    matches.textContent = words.length ? `${shown} of ${rows.length}` : '';
  });
  document.addEventListener('keydown', event => {
    if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== filter) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === 'Escape' && document.activeElement === filter) {
      filter.value = '';
      filter.dispatchEvent(new Event('input'));
    }
  });
})();
