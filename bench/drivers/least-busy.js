'use strict';

// A pool over pipelined connections: a query goes to the one with the fewest in flight. For drivers whose
// own pool lends a connection to one query at a time, so that nothing would be pipelined.

/**
 * @param {import('.').Session[]} sessions
 * @returns {import('.').Session}
 */
function leastBusy(sessions) {
  const members = sessions.map((session) => ({ session, inFlight: 0 }));
  let next = 0;
  const choose = () => {
    let best = members[next];
    // Starting after the last choice, so that equally busy ones take turns.
    for (let i = 1; i < members.length; i++) {
      const member = members[(next + i) % members.length];
      if (member.inFlight < best.inFlight) best = member;
    }
    next = (members.indexOf(best) + 1) % members.length;
    return best;
  };
  return {
    async query(text, values) {
      const member = choose();
      member.inFlight++;
      try {
        return await member.session.query(text, values);
      } finally {
        member.inFlight--;
      }
    },
    end: () => Promise.all(sessions.map((session) => session.end())),
  };
}

module.exports = { leastBusy };
