"""What buys a goal's product with its options, found by rule from the gold: the solution of a task."""

from webshop_server.engine import ShopState
from webshop_server.storefront import ShopTask, Storefront


def solution_of(storefront: Storefront, task: ShopTask, mode: str) -> list[str] | None:
    """Return the actions from the search page: the title searched for, pages turned, options clicked, bought.

    Args:
        storefront: The shop.
        task: The task.
        mode: The observation mode.

    Returns:
        The actions, or None if the product is on no results page for its own title.
    """
    gold = storefront.reference(task.task_id)
    product = gold["asin"].lower()
    title = gold["title"].replace("[", " ").replace("]", " ")  # they would end the action early
    actions = [f"search[{title}]"]
    state = storefront.act(ShopState(task.instruction), actions[0]).state
    while product not in (shown := storefront.view(state, mode)).clickables:
        if "next >" not in shown.clickables or not shown.page["products"]:
            return None
        actions.append("click[next >]")
        state = storefront.act(state, actions[-1]).state
    return [*actions, f"click[{product}]", *(f"click[{value}]" for value in gold["options"]), "click[buy now]"]
