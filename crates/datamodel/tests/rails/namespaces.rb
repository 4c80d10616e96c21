# Names are looked up from the inside out; a leading :: begins at the top.
# file: app/models/shop/item.rb
module Shop
  def self.table_name_prefix
    "shop_"
  end
  class Item < ApplicationRecord
    belongs_to :category
    belongs_to :outer, class_name: "::Category", foreign_key: "outer_id"
    has_many :lines, class_name: "Shop::Order::Line"
  end
  class Category < ApplicationRecord
    has_many :items, dependent: :restrict_with_exception
  end
end
# file: app/models/category.rb
class Category < ApplicationRecord
  has_many :items, class_name: "Shop::Item", foreign_key: :outer_id
  has_many :gone, class_name: "Vanished"
end
# file: app/models/shop/order.rb
class Shop::Order < ApplicationRecord
  has_many :lines
  class Line < ApplicationRecord
    self.table_name = :order_lines
    belongs_to :order
    belongs_to :item
  end
end
# file: app/models/plugin.rb
class Plugin < ApplicationRecord
  class ::Category
    has_many :plugins, dependent: :destroy
  end
end
Category.class_eval do
  has_many :extras, class_name: "Plugin"
end
