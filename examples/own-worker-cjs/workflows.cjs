// Plugins cannot ship workflows: this line adds those of searchflow to your own. Its workers need all of its workflows.
module.exports = { ...require('searchflow/workflows') };
