// Sphinx asks this for the score of each result of a search. Tasks come first, since each of their sections answers a
// question: a result that is the whole page leads to the section whose heading has most words of the question.
var Scorer = {
  score: (result) => {
    const [page, , anchor, , score] = result;
    if (page !== "docs/tasks") return score;
    const section = anchor ? null : sectionOf(page, new URLSearchParams(location.search).get("q") ?? "");
    if (section) [result[1], result[2]] = section;
    return score + 1000;
  },

  // What Sphinx has for the rest.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Returns the text of a link to a section and its anchor, or null if no heading or several fit best.
function sectionOf(page, query) {
  const { alltitles, docnames, titles } = Search._index;
  const stems = (text) => new Set(splitQuery(text.toLowerCase()).map((word) => new Stemmer().stemWord(word)));
  const asked = stems(query);
  const found = [];
  for (const [title, places] of Object.entries(alltitles))
    for (const [file, id] of places)
      if (docnames[file] === page && title !== titles[file]) {
        const common = [...stems(title)].filter((stem) => asked.has(stem));
        const meant = common.filter((stem) => !stopwords.has(stem)).length;
        if (meant) found.push([meant, common.length, [`${titles[file]} > ${title}`, `#${id}`]]);
      }
  found.sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  const [best, next] = found;
  return best && !(next && next[0] === best[0] && next[1] === best[1]) ? best[2] : null;
}
