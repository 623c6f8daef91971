// Plugins cannot ship workflows: this line adds those of searchflow to your own. A worker of searchflow needs all of them.
module.exports = { ...require('searchflow/workflows') };
